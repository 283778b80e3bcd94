package dev.isthmus.gateway.metrics;

import dev.isthmus.gateway.call.ClientProtocol;
import dev.isthmus.gateway.call.OperationKind;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/** The meters of one route, created when they are first needed. Thread-safe. */
final class RouteMeters {
    private static final int KINDS = OperationKind.values().length;

    private final MeterRegistry registry;
    private final SeriesBudget budget;
    private final String route;
    private final LongAdder inFlight = new LongAdder();
    private final @Nullable Gauge gauge;
    private final AtomicReferenceArray<@Nullable OperationMeters> meters =
            new AtomicReferenceArray<>(ClientProtocol.values().length * KINDS);

    RouteMeters(MeterRegistry registry, SeriesBudget budget, String route) {
        this.registry = registry;
        this.budget = budget;
        this.route = route;
        this.gauge = budget.take(1)
                ? Gauge.builder("isthmus.model.requests.under.way", inFlight, calls -> Math.max(0, calls.sum()))
                        .description("Concurrent calls for the model")
                        .tag("model", route)
                        .register(registry)
                : null;
    }

    void began() {
        inFlight.increment();
    }

    void ended() {
        inFlight.decrement();
    }

    /** Null if there may be no more time series. */
    @Nullable
    @SuppressWarnings("EnumOrdinal") // indexes an array that lives as long as the enums
    OperationMeters of(ClientProtocol protocol, OperationKind kind) {
        int index = protocol.ordinal() * KINDS + kind.ordinal();
        OperationMeters existing = meters.get(index);
        return existing == null ? make(index, protocol, kind) : existing;
    }

    private synchronized @Nullable OperationMeters make(int index, ClientProtocol protocol, OperationKind kind) {
        OperationMeters existing = meters.get(index);
        if (existing == null && budget.take(OperationMeters.SERIES)) {
            existing = new OperationMeters(
                    registry, budget, Tags.of("protocol", protocol.label(), "operation", kind.label(), "model", route));
            meters.set(index, existing);
        }
        return existing;
    }

    synchronized void close() {
        if (gauge != null) {
            registry.remove(gauge);
            budget.release(1);
        }
        for (int i = 0; i < meters.length(); i++) {
            OperationMeters existing = meters.get(i);
            if (existing != null) {
                existing.close();
            }
        }
    }
}
