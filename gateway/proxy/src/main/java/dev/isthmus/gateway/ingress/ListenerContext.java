package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.ClientConnection;
import dev.isthmus.gateway.call.ClientProtocol;
import dev.isthmus.gateway.call.HeaderFields;
import dev.isthmus.gateway.call.Service;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.gateway.net.OpenConnections;
import dev.isthmus.gateway.tls.ServerTls;
import io.netty.channel.Channel;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * State shared by the connections of a listener.
 *
 * @param name of the listener; empty if it has none
 * @param tls null for plain text
 * @param calls receives the calls
 * @param settings read at the start of each request, and of each connection for connection settings
 * @param connections counts the connections of all listeners of the same service
 * @param memory limits what calls hold; null for no limit
 */
public record ListenerContext(
        String name,
        @Nullable ServerTls tls,
        Service calls,
        Supplier<IngressSettings> settings,
        OpenConnections connections,
        @Nullable MemoryBudget memory) {

    /** The context of listeners without a name, for plain text. */
    public ListenerContext(
            Service calls,
            Supplier<IngressSettings> settings,
            OpenConnections connections,
            @Nullable MemoryBudget memory) {
        this("", null, calls, settings, connections, memory);
    }

    /** A context without a name and a memory limit. */
    public ListenerContext(Service calls, Supplier<IngressSettings> settings) {
        this(calls, settings, new OpenConnections(), null);
    }

    /** The context of a listener with this name. */
    public ListenerContext named(String other, @Nullable ServerTls otherTls) {
        return new ListenerContext(other, otherTls, calls, settings, connections, memory);
    }

    /** Creates the context of a request whose head was received. */
    CallContext context(ClientProtocol protocol, HeaderFields head, ClientConnection connection, Channel channel) {
        MemoryBudget.MemoryReservation reservation =
                memory == null ? MemoryBudget.MemoryReservation.UNCOUNTED : memory.reserve();
        return new CallContext(
                protocol,
                connection,
                head,
                channel.eventLoop(),
                channel.alloc(),
                reservation,
                System.nanoTime());
    }
}
