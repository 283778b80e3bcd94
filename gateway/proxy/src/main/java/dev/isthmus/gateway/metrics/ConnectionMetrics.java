package dev.isthmus.gateway.metrics;

import dev.isthmus.gateway.net.ConnectionEvents;
import dev.isthmus.gateway.net.OpenConnections;
import dev.isthmus.gateway.net.TimeoutRule;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;

/** Counts open, rejected and timed-out client connections. */
public final class ConnectionMetrics implements ConnectionEvents {
    private final MeterRegistry registry;

    public ConnectionMetrics(MeterRegistry registry) {
        this.registry = registry;
    }

    /** Registers the gauge of open connections. */
    public void show(OpenConnections connections) {
        Gauge.builder("isthmus.connections.open", connections, OpenConnections::count)
                .description("Open client connections")
                .register(registry);
    }

    @Override
    public void timedOut(TimeoutRule rule) {
        Counter.builder("isthmus.connections.timeouts")
                .description("Client connections, or requests on them, that timed out because of the client")
                .tag("rule", rule.label())
                .register(registry)
                .increment();
    }

    @Override
    public void refused(OpenConnections.ConnectionLimit limit) {
        Counter.builder("isthmus.connections.refused")
                .description("Client connections refused because too many were open")
                .tag("limit", limit.label())
                .register(registry)
                .increment();
    }
}
