package dev.isthmus.gateway.metrics;

import dev.isthmus.gateway.call.ClientProtocol;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/** The meters of one route, created when they are first needed. Thread-safe. */
final class RouteMeters {
    private static final int KINDS = OperationKind.values().length;

    private final MeterRegistry registry;
    private final String route;
    private final AtomicReferenceArray<@Nullable OperationMeters> meters =
            new AtomicReferenceArray<>(ClientProtocol.values().length * KINDS);

    RouteMeters(MeterRegistry registry, String route) {
        this.registry = registry;
        this.route = route;
    }

    @SuppressWarnings("EnumOrdinal") // indexes an array that lives as long as the enums
    OperationMeters of(ClientProtocol protocol, OperationKind kind) {
        int index = protocol.ordinal() * KINDS + kind.ordinal();
        OperationMeters existing = meters.get(index);
        return existing == null ? make(index, protocol, kind) : existing;
    }

    private synchronized OperationMeters make(int index, ClientProtocol protocol, OperationKind kind) {
        OperationMeters existing = meters.get(index);
        if (existing == null) {
            existing = new OperationMeters(
                    registry, Tags.of("protocol", protocol.label(), "operation", kind.label(), "model", route));
            meters.set(index, existing);
        }
        return existing;
    }

    synchronized void close() {
        for (int i = 0; i < meters.length(); i++) {
            OperationMeters existing = meters.get(i);
            if (existing != null) {
                existing.close();
            }
        }
    }
}
