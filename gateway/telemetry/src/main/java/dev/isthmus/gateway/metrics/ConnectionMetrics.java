package dev.isthmus.gateway.metrics;

import dev.isthmus.gateway.net.CloseCause;
import dev.isthmus.gateway.net.ConnectionEvents;
import dev.isthmus.gateway.net.ConnectionMemory;
import dev.isthmus.gateway.net.OpenConnections;
import dev.isthmus.gateway.net.OpenConnections.ConnectionLimit;
import dev.isthmus.gateway.net.TimeoutRule;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.Map;

/** Counts opened, closed, rejected and timed-out client connections. */
public final class ConnectionMetrics implements ConnectionEvents {
    private final MeterRegistry registry;
    private final Counter opened;
    private final Map<CloseCause, Counter> closed;
    private final Map<TimeoutRule, Counter> timeouts;
    private final Map<ConnectionLimit, Counter> refused;

    public ConnectionMetrics(MeterRegistry registry) {
        this.registry = registry;
        opened = Counter.builder("isthmus.connections.opened")
                .description("Client connections that were accepted")
                .register(registry);
        closed = LabelledCounters.of(
                CloseCause.class,
                cause -> Counter.builder("isthmus.connections.closed")
                        .description(
                                "Accepted client connections that were closed. client: by the client; timeout: the client"
                                        + " took too long; drain: the gateway drains or stops; gateway: after an error or the last"
                                        + " response")
                        .tag("cause", cause.label())
                        .register(registry));
        timeouts = LabelledCounters.of(
                TimeoutRule.class,
                rule -> Counter.builder("isthmus.connections.timeouts")
                        .description("Client connections, or requests on them, that timed out because of the client")
                        .tag("rule", rule.label())
                        .register(registry));
        refused = LabelledCounters.of(
                ConnectionLimit.class,
                limit -> Counter.builder("isthmus.connections.refused")
                        .description(
                                "Client connections closed because of a limit. total, address: too many were open; memory: they"
                                        + " held too much for requests that were incomplete")
                        .tag("limit", limit.label())
                        .register(registry));
    }

    public void show(OpenConnections connections) {
        Gauge.builder("isthmus.connections.open", connections, OpenConnections::count)
                .description("Open client connections")
                .register(registry);
        Gauge.builder("isthmus.connections.held", connections.memory(), ConnectionMemory::held)
                .description("Memory that client connections hold apart from calls, approximately")
                .baseUnit("bytes")
                .register(registry);
        Gauge.builder("isthmus.connections.held.limit", connections.memory(), ConnectionMemory::limit)
                .description("Memory that client connections may hold apart from calls")
                .baseUnit("bytes")
                .register(registry);
    }

    @Override
    public void opened() {
        opened.increment();
    }

    @Override
    public void closed(CloseCause cause) {
        LabelledCounters.increment(closed, cause);
    }

    @Override
    public void timedOut(TimeoutRule rule) {
        LabelledCounters.increment(timeouts, rule);
    }

    @Override
    public void refused(ConnectionLimit limit) {
        LabelledCounters.increment(refused, limit);
    }
}
