package dev.isthmus.gateway.metrics;

import dev.isthmus.gateway.logfile.Reloadable;
import dev.isthmus.gateway.memory.BufferAllocators;
import dev.isthmus.gateway.settings.MetricsConfig.OtlpConfig;
import io.micrometer.core.instrument.Clock;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.jvm.JvmGcMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmMemoryMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmThreadMetrics;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.netty.buffer.PoolArenaMetric;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.util.internal.PlatformDependent;
import io.prometheus.metrics.core.metrics.Info;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.Properties;
import org.jspecify.annotations.Nullable;

/** The registry of one gateway, with the meters of its process. */
public final class ProcessMetrics implements AutoCloseable {
    private static final String TEXT = "text/plain; version=0.0.4; charset=utf-8";
    private static final String OPEN_METRICS = "application/openmetrics-text";

    private final PrometheusMeterRegistry registry = new PrometheusMeterRegistry(
            new ExpositionConfig(), new PrometheusRegistry(), Clock.SYSTEM, new ExemplarSpan());
    private final String version;
    private final JvmGcMetrics collections = new JvmGcMetrics();

    /**
     * Creates the registry and registers the meters of this process.
     *
     * @param version of the build
     * @param commit of the build
     */
    public ProcessMetrics(String version, String commit) {
        this.version = version;
        Info.builder()
                .name("isthmus_build_info")
                .help("Version of this build; always 1")
                .labelNames("version", "commit", "java")
                .register(registry.getPrometheusRegistry())
                .setLabelValues(version, commit, Runtime.version().toString());
        io.prometheus.metrics.instrumentation.jvm.ProcessMetrics.builder().register(registry.getPrometheusRegistry());
        new JvmMemoryMetrics().bindTo(registry);
        new JvmThreadMetrics().bindTo(registry);
        collections.bindTo(registry);
        PooledByteBufAllocator buffers = BufferAllocators.shared();
        Gauge.builder("isthmus.buffers.direct", buffers, each -> each.metric().usedDirectMemory())
                .description("Direct memory of the buffer allocator. If it only grows,"
                        + " ISTHMUS_JAVA_OPTIONS=-Dio.netty.leakDetection.level=simple logs leaked buffers, at a"
                        + " tenth of a small call's CPU")
                .baseUnit("bytes")
                .register(registry);
        Gauge.builder("isthmus.buffers.direct.limit", PlatformDependent::maxDirectMemory)
                .description("Direct memory that the process may use")
                .baseUnit("bytes")
                .register(registry);
        Gauge.builder("isthmus.buffers.active", buffers, ProcessMetrics::active)
                .description("Direct buffers in use")
                .register(registry);
        Gauge.builder(
                        "isthmus.metrics.meters",
                        registry,
                        each -> each.getMeters().size())
                .description("Registered meters; each has one time series or, as a histogram, one for each bucket")
                .register(registry);
    }

    private static double active(PooledByteBufAllocator allocator) {
        return allocator.metric().directArenas().stream()
                .mapToLong(PoolArenaMetric::numActiveAllocations)
                .sum();
    }

    public MeterRegistry registry() {
        return registry;
    }

    /** What sends all metrics to a collector, as the current configuration says; nothing until it is configured. */
    public Reloadable<OtlpConfig, ?> exports() {
        return new Reloadable<>(
                config -> new OtlpExport(config, registry.getPrometheusRegistry()::scrape, registry, version));
    }

    /** Exemplars on buckets only: Prometheus 2.42, which is Debian's, refuses all metrics if a count has one. */
    private static final class ExpositionConfig implements PrometheusConfig {
        @Override
        public @Nullable String get(String key) {
            return null;
        }

        @Override
        public Properties prometheusProperties() {
            Properties properties = new Properties();
            properties.setProperty("io.prometheus.exporter.exemplarsOnAllMetricTypes", "false");
            return properties;
        }
    }

    /** The format for a client: OpenMetrics, which has exemplars, if it accepts that, else Prometheus' text format. */
    public static String contentType(String accept) {
        return accept.contains(OPEN_METRICS) ? OPEN_METRICS + "; version=1.0.0; charset=utf-8" : TEXT;
    }

    /** The text of all metrics, in a format of {@link #contentType}. */
    public String scrape(String contentType) {
        return registry.scrape(contentType);
    }

    @Override
    public void close() {
        collections.close();
        registry.close();
    }
}
