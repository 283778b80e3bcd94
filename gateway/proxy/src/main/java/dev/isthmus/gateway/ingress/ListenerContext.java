package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.ClientProtocol;
import dev.isthmus.gateway.call.HeaderFields;
import dev.isthmus.gateway.call.Service;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.gateway.net.OpenConnections;
import io.netty.channel.Channel;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What the connections of a listener share.
 *
 * @param calls takes the calls
 * @param settings asked at the beginning of each request, and of each connection for what belongs to that
 * @param connections counts those of all listeners with these calls
 * @param memory what calls may hold; null where that is not counted
 */
public record ListenerContext(
        Service calls,
        Supplier<IngressSettings> settings,
        OpenConnections connections,
        @Nullable MemoryBudget memory) {

    /** Without connections yet, where nobody counts what calls hold. */
    public ListenerContext(Service calls, Supplier<IngressSettings> settings) {
        this(calls, settings, new OpenConnections(), null);
    }

    /** Of a request whose head has come on a channel. */
    CallContext context(ClientProtocol protocol, HeaderFields head, Channel channel) {
        MemoryBudget.MemoryReservation reservation =
                memory == null ? MemoryBudget.MemoryReservation.UNCOUNTED : memory.hold();
        return new CallContext(
                protocol,
                channel.remoteAddress(),
                head,
                channel.eventLoop(),
                channel.alloc(),
                reservation,
                System.nanoTime());
    }
}
