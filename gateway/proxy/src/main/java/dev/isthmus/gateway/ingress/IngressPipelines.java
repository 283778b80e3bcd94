package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.ClientConnection;
import dev.isthmus.gateway.net.ConnectionPolicy;
import dev.isthmus.gateway.net.OpenConnections;
import dev.isthmus.gateway.net.PackedReadAllocator;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.gateway.tls.ServerTls;
import io.netty.channel.AdaptiveRecvByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import java.net.SocketAddress;

/** Sets up the pipelines of client connections. */
final class IngressPipelines extends ChannelInitializer<Channel> {
    private static final int MAX_READ = 512 * 1024;
    private static final PackedReadAllocator READS =
            new PackedReadAllocator(new AdaptiveRecvByteBufAllocator(512, 8 * 1024, MAX_READ));
    /** Read-ahead limit of all connections of a listener, in bytes. */
    private static final long MAX_READ_AHEAD = 64L << 20;

    private volatile ListenerContext listener;
    private final ReadAheadBudget ahead = new ReadAheadBudget(MAX_READ_AHEAD);

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
        if (!accepted(channel, listener.connections(), policy)) {
            return;
        }
        ServerTls tls = listener.tls();
        ClientConnection client = new ClientConnection(listener.name(), channel.remoteAddress(), null);
        if (tls == null) {
            BodyReadBuffer bodyBuffer = new BodyReadBuffer(BodyReadBuffer.ReadSizes.DEFAULT, ahead);
            channel.config().setRecvByteBufAllocator(new BodyReadAllocator(READS, bodyBuffer));
            ConnectionTimer timer = new ConnectionTimer(policy, listener.connections(), 0);
            AcceptedConnection connection = new AcceptedConnection(listener, timer, bodyBuffer, client);
            channel.pipeline().addLast(timer).addLast(new ProtocolDetector(connection));
        } else {
            // What is read from the socket is not what bodies consist of.
            BodyReadBuffer unused = new BodyReadBuffer(BodyReadBuffer.ReadSizes.NEVER, ahead);
            channel.config().setRecvByteBufAllocator(READS);
            ConnectionTimer timer = new ConnectionTimer(
                    policy, listener.connections(), tls.handshakeTimeout().toNanos());
            AcceptedConnection connection = new AcceptedConnection(listener, timer, unused, client);
            channel.pipeline().addLast(timer).addLast(tls.handler()).addLast(new TlsNegotiation(tls, connection));
        }
    }

    /** Accepts a connection, or closes it if it exceeds a limit. */
    private static boolean accepted(Channel channel, OpenConnections connections, ConnectionPolicy policy) {
        SocketAddress peer = channel.remoteAddress();
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
}
