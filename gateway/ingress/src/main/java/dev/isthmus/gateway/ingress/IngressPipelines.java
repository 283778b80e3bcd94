package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.TlsSession;
import dev.isthmus.gateway.ingress.TlsNegotiation.ProtocolDetector;
import dev.isthmus.gateway.memory.ReservedBytes;
import dev.isthmus.gateway.net.ConnectionDescription.ConnectionSide;
import dev.isthmus.gateway.net.ConnectionPolicy;
import dev.isthmus.gateway.net.DescribedConnection;
import dev.isthmus.gateway.net.OpenConnections;
import dev.isthmus.gateway.net.PackedReadAllocator;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.gateway.tls.ServerTls;
import io.netty.channel.AdaptiveRecvByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelPipeline;
import java.net.SocketAddress;
import org.jspecify.annotations.Nullable;

/** Sets up the pipelines of client connections. */
final class IngressPipelines extends ChannelInitializer<Channel> {
    private static final PackedReadAllocator READS =
            new PackedReadAllocator(new AdaptiveRecvByteBufAllocator(512, 8 * 1024, RequestReader.MAX_READ));
    /** Read-ahead limit of all connections of a listener, in bytes. */
    private static final long MAX_READ_AHEAD = 64L << 20;

    private volatile ListenerContext listener;
    private final ReservedBytes ahead = new ReservedBytes(MAX_READ_AHEAD);

    IngressPipelines(ListenerContext listener) {
        this.listener = listener;
    }

    /** Sets the context of the connections that are accepted from now on. */
    void use(ListenerContext other) {
        listener = other;
    }

    @Override
    protected void initChannel(Channel channel) {
        ListenerContext listener = this.listener;
        ConnectionPolicy policy = listener.settings().get().connections();
        if (!accepted(channel, listener, policy)) {
            return;
        }
        TrustedProxies proxies = listener.proxies();
        ServerTls tls = listener.tls();
        BodyReadBuffer bodyBuffer;
        if (tls == null) {
            bodyBuffer = new BodyReadBuffer(BodyReadBuffer.ReadSizes.DEFAULT, ahead);
            channel.config().setRecvByteBufAllocator(bodyBuffer.reads(READS));
        } else {
            // What is read from the socket is not what bodies consist of.
            bodyBuffer = new BodyReadBuffer(BodyReadBuffer.ReadSizes.NEVER, ahead);
            channel.config().setRecvByteBufAllocator(READS);
        }
        ConnectionTimer timer = new ConnectionTimer(
                policy,
                listener.connections(),
                tls == null ? 0 : tls.handshakeTimeout().toNanos());
        channel.pipeline().addLast(timer);
        if (proxies.proxyProtocol()) {
            ProxyProtocolHandler.addTo(channel, listener.connections(), policy);
        }
        AcceptedConnection connection = new AcceptedConnection(channel, listener, timer, bodyBuffer);
        if (tls == null) {
            channel.pipeline().addLast(new ProtocolDetector(connection));
        } else {
            channel.pipeline().addLast(tls.handler()).addLast(new TlsNegotiation(tls, connection));
        }
        listener.connections().drain().add(channel);
        listener.connections()
                .table()
                .add(new DescribedConnection(
                        channel,
                        ConnectionSide.CLIENT,
                        listener.name(),
                        () -> ProxyProtocolHandler.peer(channel),
                        timer::use,
                        System.nanoTime()));
        timer.start(channel);
    }

    /** Accepts a connection, or closes it if it exceeds a limit. */
    private static boolean accepted(Channel channel, ListenerContext listener, ConnectionPolicy policy) {
        OpenConnections connections = listener.connections();
        TrustedProxies proxies = listener.proxies();
        if (proxies.proxyProtocol() && !proxies.trusts(channel.remoteAddress())) {
            ProxyProtocolHandler.refuse(channel, "not one of trusted_proxies");
            return false;
        }
        // A proxy is counted by its clients' addresses, once they are known.
        SocketAddress peer = proxies.proxyProtocol() ? null : channel.remoteAddress();
        OpenConnections.ConnectionLimit exceeded = connections.enter(peer, policy);
        channel.closeFuture().addListener(closed -> connections.leave(peer));
        if (exceeded != null) {
            policy.events().refused(exceeded);
            channel.close();
            return false;
        }
        if (policy.tcpKeepaliveSeconds() > 0) {
            Transport.keepAlive(channel, policy.tcpKeepaliveSeconds());
        }
        return true;
    }

    /** A connection whose protocol is not known yet. */
    static final class AcceptedConnection {
        private final Channel channel;
        private final ListenerContext listener;
        private final ConnectionTimer timer;
        private final BodyReadBuffer bodyBuffer;
        private @Nullable TlsSession session;

        /** @param bodyBuffer the buffer that the connection reads bodies into as it requests */
        AcceptedConnection(
                Channel channel, ListenerContext listener, ConnectionTimer timer, BodyReadBuffer bodyBuffer) {
            this.channel = channel;
            this.listener = listener;
            this.timer = timer;
            this.bodyBuffer = bodyBuffer;
        }

        /** The TLS handshake has succeeded. */
        void secured(TlsSession established) {
            session = established;
            timer.handshakeEnded();
        }

        /** Whether the connection was closed because the TLS handshake took too long. */
        boolean handshakeTimedOut() {
            return timer.handshakeTimedOut();
        }

        /** Sets up HTTP/1.1. */
        void http1(ChannelPipeline pipeline) {
            Http1Handler handler =
                    new Http1Handler(channel, listener, listener.connection(channel, session), bodyBuffer);
            pipeline.addLast(handler);
            timer.watch(channel, handler);
        }

        /** Sets up HTTP/2. */
        void http2(ChannelPipeline pipeline) {
            Http2Ingress ingress = new Http2Ingress(channel, listener, listener.connection(channel, session));
            pipeline.addLast(ingress.connection());
            timer.watch(channel, ingress);
        }
    }
}
