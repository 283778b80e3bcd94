package dev.isthmus.gateway.metrics;

import dev.isthmus.gateway.logfile.Reloadable;
import dev.isthmus.gateway.settings.MetricsConfig.OtlpConfig;

/** What sends metrics elsewhere, as the current configuration says. Thread-safe. */
public final class MetricsExports extends Reloadable<OtlpConfig, OtlpExport> {
    private final ProcessMetrics metrics;

    /** Sends nothing until it is configured. */
    public MetricsExports(ProcessMetrics metrics) {
        super(false);
        this.metrics = metrics;
    }

    @Override
    protected OtlpExport started(OtlpConfig config) {
        return metrics.export(config);
    }
}
