package dev.isthmus.gateway.settings;

import java.net.URI;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** A section on what is sent to an OpenTelemetry collector. */
interface CollectorSection extends CheckedSection {
    String endpoint();

    /** The path that the endpoint usually has. */
    String usualPath();

    Map<String, String> resource();

    Map<String, Path> headerFiles();

    @Nullable
    Path ca();

    @Override
    default void check(SectionCheck check) {
        if (check.readable("endpoint")) {
            checkEndpoint(check);
        }
        if (resource().containsKey("service.name")) {
            check.problem("resource", "service.name: 'service_name' is expected instead");
        }
        new TreeMap<>(headerFiles()).forEach((header, file) -> {
            if (!HeaderAllowList.isForGateway(header)) {
                check.problem("header_files", "'" + header + "' is set by the gateway");
            } else {
                check.secret("header_files", file);
            }
        });
        check.authorities("ca", ca());
    }

    private void checkEndpoint(SectionCheck check) {
        URI url = WebUrl.of(endpoint());
        if (url == null || url.getFragment() != null) {
            check.expect(
                    false,
                    "endpoint",
                    "a URL as http://127.0.0.1:4318" + usualPath() + " is expected, http or https, without credentials",
                    endpoint());
        } else {
            check.expect(
                    headerFiles().isEmpty() || WebUrl.isSecure(endpoint()),
                    "endpoint",
                    "with 'header_files' https is expected, or http on loopback",
                    endpoint());
        }
    }
}
