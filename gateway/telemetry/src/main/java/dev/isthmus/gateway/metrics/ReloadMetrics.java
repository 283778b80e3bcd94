package dev.isthmus.gateway.metrics;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.concurrent.atomic.AtomicLong;

/** Counts reloads. */
public final class ReloadMetrics {
    private final Counter applied;
    private final Counter rejected;
    private final AtomicLong generation = new AtomicLong(1);
    private final AtomicLong success = new AtomicLong(1);

    public ReloadMetrics(MeterRegistry registry) {
        applied = counter(registry, "applied");
        rejected = counter(registry, "rejected");
        Gauge.builder("isthmus.config.generation", generation, AtomicLong::get)
                .description("Generation of the active configuration; 1 at start")
                .register(registry);
        Gauge.builder("isthmus.config.last.reload.success", success, AtomicLong::get)
                .description("1 if the last reload was applied, 0 if it was rejected")
                .register(registry);
    }

    private static Counter counter(MeterRegistry registry, String result) {
        return Counter.builder("isthmus.config.reloads")
                .description("Configuration reloads")
                .tag("result", result)
                .register(registry);
    }

    /** A configuration was applied as this generation. */
    public void applied(long number) {
        generation.set(number);
        success.set(1);
        applied.increment();
    }

    /** A configuration was rejected. */
    public void rejected() {
        success.set(0);
        rejected.increment();
    }
}
