package dev.isthmus.gateway.settings;

import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Checks the section on traces, and the files that it names. */
final class TracingChecks {
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

    private final ConfigChecks checks;
    private final YamlReader yaml;
    private final SectionPositions positions;

    TracingChecks(ConfigChecks checks, YamlReader yaml, SectionPositions positions) {
        this.checks = checks;
        this.yaml = yaml;
        this.positions = positions;
    }

    void run(TracingConfig tracing) {
        if (!checks.valid(tracing)) {
            return;
        }
        URI url = url(tracing.endpoint());
        if (url == null) {
            problem(
                    tracing,
                    "endpoint",
                    "a URL as http://127.0.0.1:4318/v1/traces is expected, http or https, without credentials, got '"
                            + tracing.endpoint() + "'");
            return;
        }
        if (!tracing.headerFiles().isEmpty()
                && url.getScheme().equals("http")
                && !ConfigChecks.isLoopback(url.getHost().replaceAll("[\\[\\]]", ""))) {
            problem(
                    tracing,
                    "endpoint",
                    "with 'header_files' https is expected, or http on loopback, got '" + tracing.endpoint() + "'");
            return;
        }
        if (tracing.resource().containsKey("service.name")) {
            problem(tracing, "resource", "service.name: 'service_name' is expected instead");
        }
        new TreeMap<>(tracing.headerFiles()).forEach((name, file) -> header(tracing, name, file));
        Path ca = tracing.ca();
        if (ca != null) {
            try {
                TlsFiles.certificates(ca);
            } catch (TlsFileException e) {
                problem(tracing, "ca", String.valueOf(e.getMessage()));
            }
        }
    }

    /** Null if it is none that spans can be sent to. */
    private static @Nullable URI url(String text) {
        try {
            URI url = new URI(text);
            boolean http = "http".equals(url.getScheme()) || "https".equals(url.getScheme());
            return http && url.getHost() != null && url.getUserInfo() == null && url.getFragment() == null ? url : null;
        } catch (URISyntaxException e) {
            return null;
        }
    }

    private void header(TracingConfig tracing, String name, Path file) {
        if (RESERVED.contains(name)) {
            problem(tracing, "header_files", "'" + name + "' is set by the gateway");
            return;
        }
        try {
            String exposure = SecretFile.exposure(file);
            if (exposure != null) {
                problem(tracing, "header_files", file + " " + exposure);
            } else if (!Files.isReadable(file) || !Files.isRegularFile(file)) {
                problem(tracing, "header_files", file + " cannot be read");
            }
        } catch (IOException e) {
            problem(tracing, "header_files", file + " cannot be read");
        }
    }

    private void problem(TracingConfig tracing, String key, String what) {
        yaml.problem(positions.of(tracing, key), "tracing: " + key + ": " + what);
    }
}
