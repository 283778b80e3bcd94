package dev.isthmus.gateway.metrics;

import dev.isthmus.gateway.settings.MetricsConfig.OtlpConfig;
import org.jspecify.annotations.Nullable;

/** What sends metrics elsewhere, as the current configuration says. Thread-safe. */
public final class MetricsExports implements AutoCloseable {
    private final ProcessMetrics metrics;
    // Guarded by this.
    private @Nullable OtlpExport otlp;

    /** Sends nothing until it is configured. */
    public MetricsExports(ProcessMetrics metrics) {
        this.metrics = metrics;
    }

    /**
     * Applies a configuration. May block.
     *
     * @param config null to send nothing
     */
    public synchronized void configure(@Nullable OtlpConfig config) {
        if (otlp != null && otlp.serves(config)) {
            return;
        }
        close();
        otlp = config == null ? null : metrics.export(config);
    }

    @Override
    public synchronized void close() {
        if (otlp != null) {
            otlp.close();
            otlp = null;
        }
    }
}
