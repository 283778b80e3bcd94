package dev.isthmus.gateway.metrics;

import dev.isthmus.gateway.call.ClientProtocol;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/** The meters of one route, made as they are first needed. Used by all event loops. */
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

    @SuppressWarnings("EnumOrdinal") // places in an array that lives as long as the enums do
    OperationMeters of(ClientProtocol protocol, OperationKind kind) {
        int place = protocol.ordinal() * KINDS + kind.ordinal();
        OperationMeters known = meters.get(place);
        return known == null ? make(place, protocol, kind) : known;
    }

    private synchronized OperationMeters make(int place, ClientProtocol protocol, OperationKind kind) {
        OperationMeters known = meters.get(place);
        if (known == null) {
            known = new OperationMeters(
                    registry, Tags.of("protocol", protocol.label(), "operation", kind.label(), "model", route));
            meters.set(place, known);
        }
        return known;
    }

    synchronized void close() {
        for (int i = 0; i < meters.length(); i++) {
            OperationMeters known = meters.get(i);
            if (known != null) {
                known.close();
            }
        }
    }
}
