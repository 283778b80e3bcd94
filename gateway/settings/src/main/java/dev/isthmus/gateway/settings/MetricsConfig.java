package dev.isthmus.gateway.settings;

import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

@Doc("Metrics. GET /metrics on the admin address has them in any case.")
public record MetricsConfig(
        @Doc("How many time series the metrics of calls may have. Calls that would need more are counted with "
                + "model=\"other\".")
        @Range(min = 1000, max = 10_000_000)
        @Default("250000")
        int maxSeries,

        @Nullable OtlpConfig otlp) {
    public static final MetricsConfig DEFAULT = DefaultValues.of(MetricsConfig.class);

    @Doc("Metrics that are sent to an OpenTelemetry collector, OTLP over HTTP. Names and labels are those of "
            + "Prometheus.")
    public record OtlpConfig(
            @Doc("URL that metrics are sent to: http://127.0.0.1:4318/v1/metrics.") @Required
            String endpoint,

            @Doc("Time from one request to the next.") @Default("30s")
            Duration interval,

            @Doc("Time for a request to the collector.") @Default("10s")
            Duration timeout,

            @Doc("Name of the gateway (service.name).") @Default("isthmus")
            String serviceName,

            @Doc("Further attributes of the gateway, such as deployment.environment.name.")
            Map<String, String> resource,

            @Doc("Headers of requests to the collector, each with a file that has its value, such as an API key. Read "
                    + "for each request. A file must not be readable or writable by others, nor writable by its group.")
            @HeaderName
            Map<String, Path> headerFiles,

            @Doc("PEM file with the certificates of the issuers that are trusted. Default: those that the Java runtime "
                    + "trusts. Read again when it changes.")
            @Nullable
            Path ca)
            implements CollectorSection {

        @Override
        public String usualPath() {
            return "/v1/metrics";
        }
    }

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
                URI url = WebUrl.of(endpoint());
                boolean valid = url != null && url.getFragment() == null;
                check.expect(
                        valid,
                        "endpoint",
                        "a URL as http://127.0.0.1:4318" + usualPath()
                                + " is expected, http or https, without credentials",
                        endpoint());
                check.expect(
                        !valid || headerFiles().isEmpty() || WebUrl.isSecure(endpoint()),
                        "endpoint",
                        "with 'header_files' https is expected, or http on loopback",
                        endpoint());
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
    }
}
