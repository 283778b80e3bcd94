package dev.isthmus.gateway.settings;

import java.net.URI;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** What the sections on an OpenTelemetry collector have in common. */
final class Collector {
    /** Headers that belong to the message or to the connection. */
    private static final Set<String> RESERVED = Set.of(
            "connection",
            "content-encoding",
            "content-length",
            "content-type",
            "expect",
            "host",
            "te",
            "transfer-encoding",
            "upgrade");

    private Collector() {}

    /** @param path that the endpoint usually has */
    static void check(
            SectionCheck check,
            String endpoint,
            String path,
            Map<String, String> resource,
            Map<String, Path> headerFiles,
            @Nullable Path ca) {
        URI url = WebUrl.of(endpoint);
        if (check.readable("endpoint")) {
            check.expect(
                    url != null && url.getFragment() == null,
                    "endpoint",
                    "a URL as http://127.0.0.1:4318" + path + " is expected, http or https, without credentials",
                    endpoint);
            check.expect(
                    url == null || headerFiles.isEmpty() || WebUrl.isSecure(endpoint),
                    "endpoint",
                    "with 'header_files' https is expected, or http on loopback",
                    endpoint);
        }
        if (resource.containsKey("service.name")) {
            check.problem("resource", "service.name: 'service_name' is expected instead");
        }
        new TreeMap<>(headerFiles).forEach((header, file) -> {
            if (RESERVED.contains(header)) {
                check.problem("header_files", "'" + header + "' is set by the gateway");
            } else {
                check.secret("header_files", file);
            }
        });
        check.authorities("ca", ca);
    }
}
