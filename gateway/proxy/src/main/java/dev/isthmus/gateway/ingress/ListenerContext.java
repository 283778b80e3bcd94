package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.Service;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.gateway.net.OpenConnections;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What a listener leads to.
 *
 * @param rest takes the calls of REST clients
 * @param grpc takes the calls of gRPC clients
 * @param settings asked at the beginning of each request, and of each connection for what belongs to that
 * @param connections counts those of all listeners that lead here
 * @param memory what calls may hold; null where that is not counted
 */
public record ListenerContext(
        Service rest,
        Service grpc,
        Supplier<IngressSettings> settings,
        OpenConnections connections,
        @Nullable MemoryBudget memory) {

    /** Without connections yet, where nobody counts what calls hold. */
    public ListenerContext(Service rest, Service grpc, Supplier<IngressSettings> settings) {
        this(rest, grpc, settings, new OpenConnections(), null);
    }

    /** What a call that begins holds: nothing yet. */
    MemoryBudget.MemoryReservation hold() {
        return memory == null ? MemoryBudget.MemoryReservation.UNCOUNTED : memory.hold();
    }
}
