package dev.isthmus.gateway.settings;

import dev.isthmus.gateway.settings.MetricsConfig.OtlpConfig;
import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Checks the section on metrics that are sent to a collector, and the files that it names. */
final class OtlpChecks {
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

    OtlpChecks(ConfigChecks checks, YamlReader yaml, SectionPositions positions) {
        this.checks = checks;
        this.yaml = yaml;
        this.positions = positions;
    }

    void run(OtlpConfig otlp) {
        if (!checks.valid(otlp)) {
            return;
        }
        URI url = url(otlp.endpoint());
        if (url == null) {
            problem(
                    otlp,
                    "endpoint",
                    "a URL as http://127.0.0.1:4318/v1/metrics is expected, http or https, without credentials, got '"
                            + otlp.endpoint() + "'");
            return;
        }
        boolean loopback = ConfigChecks.isLoopback(url.getHost().replaceAll("[\\[\\]]", ""));
        if (!otlp.headerFiles().isEmpty() && url.getScheme().equals("http") && !loopback) {
            problem(
                    otlp,
                    "endpoint",
                    "with 'header_files' https is expected, or http on loopback, got '" + otlp.endpoint() + "'");
        }
        if (otlp.resource().containsKey("service.name")) {
            problem(otlp, "resource", "service.name: 'service_name' is expected instead");
        }
        new TreeMap<>(otlp.headerFiles()).forEach((name, file) -> header(otlp, name, file));
        Path ca = otlp.ca();
        if (ca != null) {
            try {
                TlsFiles.certificates(ca);
            } catch (TlsFileException e) {
                problem(otlp, "ca", String.valueOf(e.getMessage()));
            }
        }
    }

    /** Null if it is none that metrics can be sent to. */
    private static @Nullable URI url(String text) {
        try {
            URI url = new URI(text);
            boolean http = "http".equals(url.getScheme()) || "https".equals(url.getScheme());
            return http && url.getHost() != null && url.getUserInfo() == null && url.getFragment() == null ? url : null;
        } catch (URISyntaxException e) {
            return null;
        }
    }

    private void header(OtlpConfig otlp, String name, Path file) {
        if (RESERVED.contains(name)) {
            problem(otlp, "header_files", "'" + name + "' is set by the gateway");
            return;
        }
        try {
            String exposure = SecretFile.exposure(file);
            if (exposure != null) {
                problem(otlp, "header_files", file + " " + exposure);
            } else if (!Files.isReadable(file) || !Files.isRegularFile(file)) {
                problem(otlp, "header_files", file + " cannot be read");
            }
        } catch (IOException e) {
            problem(otlp, "header_files", file + " cannot be read");
        }
    }

    private void problem(OtlpConfig otlp, String key, String what) {
        yaml.problem(positions.of(otlp, key), "metrics: otlp: " + key + ": " + what);
    }
}
