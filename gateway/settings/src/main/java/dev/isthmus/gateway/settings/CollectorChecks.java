package dev.isthmus.gateway.settings;

import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Checks a section on what is sent to an OpenTelemetry collector, and the files that it names. */
final class CollectorChecks {
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

    /**
     * What the sections have in common.
     *
     * @param section the section itself
     * @param name of the section, for messages
     * @param path that the endpoint usually has
     */
    record CollectorSection(
            Record section,
            String name,
            String path,
            String endpoint,
            Map<String, String> resource,
            Map<String, Path> headerFiles,
            @Nullable Path ca) {
        static CollectorSection of(MetricsConfig.OtlpConfig otlp) {
            return new CollectorSection(
                    otlp,
                    "metrics: otlp",
                    "/v1/metrics",
                    otlp.endpoint(),
                    otlp.resource(),
                    otlp.headerFiles(),
                    otlp.ca());
        }

        static CollectorSection of(TracingConfig tracing) {
            return new CollectorSection(
                    tracing,
                    "tracing",
                    "/v1/traces",
                    tracing.endpoint(),
                    tracing.resource(),
                    tracing.headerFiles(),
                    tracing.ca());
        }
    }

    private final ConfigChecks checks;
    private final YamlReader yaml;
    private final SectionPositions positions;

    CollectorChecks(ConfigChecks checks, YamlReader yaml, SectionPositions positions) {
        this.checks = checks;
        this.yaml = yaml;
        this.positions = positions;
    }

    void run(CollectorSection collector) {
        if (checks.readable(collector.section(), "endpoint")) {
            endpoint(collector);
        }
        if (collector.resource().containsKey("service.name")) {
            problem(collector, "resource", "service.name: 'service_name' is expected instead");
        }
        new TreeMap<>(collector.headerFiles()).forEach((name, file) -> header(collector, name, file));
        Path ca = collector.ca();
        if (ca != null) {
            try {
                TlsFiles.certificates(ca);
            } catch (TlsFileException e) {
                problem(collector, "ca", String.valueOf(e.getMessage()));
            }
        }
    }

    private void endpoint(CollectorSection collector) {
        URI url = url(collector.endpoint());
        if (url == null) {
            problem(
                    collector,
                    "endpoint",
                    "a URL as http://127.0.0.1:4318" + collector.path()
                            + " is expected, http or https, without credentials, got '" + collector.endpoint() + "'");
            return;
        }
        boolean loopback = ConfigChecks.isLoopback(url.getHost().replaceAll("[\\[\\]]", ""));
        if (!collector.headerFiles().isEmpty() && url.getScheme().equals("http") && !loopback) {
            problem(
                    collector,
                    "endpoint",
                    "with 'header_files' https is expected, or http on loopback, got '" + collector.endpoint() + "'");
        }
    }

    /** Null if it is none that can be sent to. */
    private static @Nullable URI url(String text) {
        try {
            URI url = new URI(text);
            boolean http = "http".equals(url.getScheme()) || "https".equals(url.getScheme());
            return http && url.getHost() != null && url.getUserInfo() == null && url.getFragment() == null ? url : null;
        } catch (URISyntaxException e) {
            return null;
        }
    }

    private void header(CollectorSection collector, String name, Path file) {
        if (RESERVED.contains(name)) {
            problem(collector, "header_files", "'" + name + "' is set by the gateway");
            return;
        }
        try {
            String exposure = SecretFile.exposure(file);
            if (exposure != null) {
                problem(collector, "header_files", file + " " + exposure);
            } else if (!Files.isReadable(file) || !Files.isRegularFile(file)) {
                problem(collector, "header_files", file + " cannot be read");
            }
        } catch (IOException e) {
            problem(collector, "header_files", file + " cannot be read");
        }
    }

    private void problem(CollectorSection collector, String key, String what) {
        yaml.problem(positions.of(collector.section(), key), collector.name() + ": " + key + ": " + what);
    }
}
