package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.ClientConnection;
import dev.isthmus.gateway.call.ClientProtocol;
import dev.isthmus.gateway.call.HeaderFields;
import dev.isthmus.gateway.call.Service;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.gateway.net.OpenConnections;
import io.netty.channel.Channel;
import java.net.SocketAddress;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * State shared by the connections of a listener.
 *
 * @param name of the listener; empty if it has none
 * @param calls receives the calls
 * @param settings read at the start of each request, and of each connection for connection settings
 * @param connections counts the connections of all listeners of the same service
 * @param memory limits what calls hold; null for no limit
 * @param proxies read at the start of each connection
 */
public record ListenerContext(
        String name,
        Service calls,
        Supplier<IngressSettings> settings,
        OpenConnections connections,
        @Nullable MemoryBudget memory,
        Supplier<TrustedProxies> proxies) {

    /** The context of clients that connect directly. */
    public ListenerContext(
            String name,
            Service calls,
            Supplier<IngressSettings> settings,
            OpenConnections connections,
            @Nullable MemoryBudget memory) {
        this(name, calls, settings, connections, memory, () -> TrustedProxies.NONE);
    }

    /** A context without a name and a memory limit. */
    public ListenerContext(Service calls, Supplier<IngressSettings> settings) {
        this("", calls, settings, new OpenConnections(), null);
    }

    /** The context of a listener with this name. */
    public ListenerContext named(String other) {
        return new ListenerContext(other, calls, settings, connections, memory, proxies);
    }

    /** The context of a listener with these proxies in front. */
    public ListenerContext behind(Supplier<TrustedProxies> others) {
        return new ListenerContext(name, calls, settings, connections, memory, others);
    }

    /** Creates the description of a new connection. */
    ClientConnection connection(Channel channel) {
        SocketAddress peer = ProxyProtocolHandler.peer(channel);
        return new ClientConnection(name, peer, null, proxies.get().trusts(peer));
    }

    /** Creates the context of a request whose head was received. */
    CallContext context(ClientProtocol protocol, HeaderFields head, ClientConnection connection, Channel channel) {
        MemoryBudget.MemoryReservation reservation =
                memory == null ? MemoryBudget.MemoryReservation.UNCOUNTED : memory.reserve();
        CallContext context = new CallContext(
                protocol,
                connection,
                head,
                channel.eventLoop(),
                channel.alloc(),
                reservation,
                System.nanoTime());
        if (connection.trustedProxy() && head instanceof RequestHead request) {
            SocketAddress client = ForwardingHeaders.client(request, proxies.get());
            if (client != null) {
                context.forwardedFor(client);
            }
        }
        return context;
    }
}
