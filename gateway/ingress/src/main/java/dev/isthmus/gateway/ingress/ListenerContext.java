package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.ClientConnection;
import dev.isthmus.gateway.call.ClientProtocol;
import dev.isthmus.gateway.call.HeaderFields;
import dev.isthmus.gateway.call.Service;
import dev.isthmus.gateway.call.TlsSession;
import dev.isthmus.gateway.grpc.GrpcWebForm;
import dev.isthmus.gateway.ingress.CorsPolicy.PreflightExchange;
import dev.isthmus.gateway.ingress.IngressSettings.BrowserAccess;
import dev.isthmus.gateway.ingress.RequestHead.ForwardingHeaders;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.gateway.net.OpenConnections;
import dev.isthmus.gateway.tls.ServerTls;
import io.netty.channel.Channel;
import io.netty.handler.codec.http.HttpHeaderNames;
import java.net.SocketAddress;
import java.util.Map;
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
 * @param proxies the proxies in front of it
 * @param browsers what it offers to web pages
 */
public record ListenerContext(
        String name,
        @Nullable ServerTls tls,
        Service calls,
        Supplier<IngressSettings> settings,
        OpenConnections connections,
        @Nullable MemoryBudget memory,
        TrustedProxies proxies,
        BrowserAccess browsers) {

    /** The context of listeners without a name, for plain text of clients that connect directly. */
    public ListenerContext(
            Service calls,
            Supplier<IngressSettings> settings,
            OpenConnections connections,
            @Nullable MemoryBudget memory) {
        this("", null, calls, settings, connections, memory, TrustedProxies.NONE, BrowserAccess.NONE);
    }

    /** A context without a name and a memory limit. */
    public ListenerContext(Service calls, Supplier<IngressSettings> settings) {
        this(calls, settings, new OpenConnections(), null);
    }

    /**
     * The context of one listener.
     *
     * @param ownTls null for plain text
     */
    public ListenerContext of(
            String ownName, @Nullable ServerTls ownTls, TrustedProxies ownProxies, BrowserAccess ownBrowsers) {
        return new ListenerContext(ownName, ownTls, calls, settings, connections, memory, ownProxies, ownBrowsers);
    }

    /**
     * Creates the description of a connection whose protocol is known.
     *
     * @param session null for plain text
     */
    ClientConnection connection(Channel channel, @Nullable TlsSession session) {
        SocketAddress peer = ProxyProtocolHandler.peer(channel);
        return new ClientConnection(name, peer, session, proxies.trusts(peer));
    }

    /**
     * Creates the exchange of a request other than native gRPC.
     *
     * @param head {@link HeaderFields#NONE} for a request whose head cannot be used
     */
    HttpExchange exchange(ResponseWriter writer, HeaderFields head, ClientConnection connection, Channel channel) {
        CorsPolicy cors = browsers.cors();
        return cors != null && head instanceof RequestHead request && CorsPolicy.isPreflight(request)
                ? new PreflightExchange(writer, cors)
                : plain(writer, head, connection, channel);
    }

    /** The headers by which a browser lets its page read the response, if the page may; each writer adds them. */
    Map<String, String> cors(HeaderFields head) {
        return browsers.cors() != null && head instanceof RequestHead request
                ? browsers.cors().headers(request.field(HttpHeaderNames.ORIGIN))
                : Map.of();
    }

    private HttpExchange plain(ResponseWriter writer, HeaderFields head, ClientConnection connection, Channel channel) {
        IngressSettings current = settings.get();
        boolean web = browsers.grpcWeb()
                && head instanceof RequestHead request
                && GrpcWebForm.isGrpcWeb(request.field(HttpHeaderNames.CONTENT_TYPE));
        CallContext context = context(web ? ClientProtocol.GRPC_WEB : ClientProtocol.REST, head, connection, channel);
        return web
                ? new GrpcExchange(new GrpcWebTransport(writer, channel), channel.alloc(), current, context, calls)
                : new RestExchange(writer, current, context, calls);
    }

    /** Creates the context of a request whose head was received. */
    CallContext context(ClientProtocol protocol, HeaderFields head, ClientConnection connection, Channel channel) {
        MemoryBudget.MemoryReservation reservation =
                memory == null ? MemoryBudget.MemoryReservation.UNCOUNTED : memory.reserve();
        CallContext context = new CallContext(
                protocol, connection, head, channel.eventLoop(), channel.alloc(), reservation, System.nanoTime());
        if (connection.trustedProxy() && head instanceof RequestHead request) {
            SocketAddress client = ForwardingHeaders.client(request, proxies);
            if (client != null) {
                context.forwardedFor(client);
            }
        }
        return context;
    }
}
