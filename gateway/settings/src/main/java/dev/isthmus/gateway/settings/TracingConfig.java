package dev.isthmus.gateway.settings;

import dev.isthmus.gateway.settings.MetricsConfig.CollectorSection;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;

@Doc("Distributed traces, sent to an OpenTelemetry collector: a span for each call, each attempt and each copy "
        + "for a shadow.")
public record TracingConfig(
        @Doc("URL that spans are sent to, OTLP over HTTP: http://127.0.0.1:4318/v1/traces.") @Required
        String endpoint,

        @Doc("Share of the calls that are sampled, where no caller has decided.") @Share @Default("1%")
        double sample,

        @Doc("The decision of a caller that sends a traceparent. respected: its calls are sampled if it says so. "
                + "ignored: 'sample' decides about all calls.")
        @Default("respected")
        ParentDecision parent,

        @Doc("Name of the gateway in traces (service.name).") @Default("isthmus")
        String serviceName,

        @Doc("Further attributes of the gateway in traces, such as deployment.environment.name.")
        Map<String, String> resource,

        @Doc("Headers of requests to the collector, each with a file that has its value, such as an API key. Read for "
                + "each request. A file must not be readable or writable by others, nor writable by its group.")
        @HeaderName
        Map<String, Path> headerFiles,

        @Doc("PEM file with the certificates of the issuers that are trusted. Default: those that the Java runtime "
                + "trusts. Read again when it changes.")
        @Nullable
        Path ca,

        @Doc("Time for a request to the collector, with its repetitions.") @Default("10s")
        Duration timeout,

        @Doc("Number of spans that wait for the collector. More are dropped.")
        @Range(min = 1, max = 1_000_000)
        @Default("2048")
        int queue)
        implements CollectorSection {
    @Override
    public String usualPath() {
        return "/v1/traces";
    }

    /** Whether callers decide that their calls are sampled. */
    public enum ParentDecision {
        RESPECTED,
        IGNORED
    }
}
