package dev.isthmus.gateway.settings;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Metrics. The admin address has them in any case. */
@Doc("Metrics. GET /metrics on the admin address has them in any case.")
public record MetricsConfig(
        @Doc("How many time series the metrics of calls may have. Calls that would need more are counted with "
                + "model=\"other\".")
        @Range(min = 1000, max = 10_000_000)
        @Default("250000")
        int maxSeries,

        @Nullable OtlpConfig otlp) {
    public static final MetricsConfig DEFAULT = DefaultValues.of(MetricsConfig.class);

    /** Metrics that are sent to an OpenTelemetry collector. */
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
                    + "trusts.")
            @Nullable
            Path ca)
            implements CollectorSection {

        @Override
        public String usualPath() {
            return "/v1/metrics";
        }
    }
}
