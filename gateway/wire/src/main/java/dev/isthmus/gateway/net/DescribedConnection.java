package dev.isthmus.gateway.net;

import dev.isthmus.gateway.net.ConnectionDescription.ConnectionSide;
import dev.isthmus.gateway.net.ConnectionDescription.ConnectionUse;
import io.netty.channel.Channel;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.handler.ssl.SslHandler;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.function.Supplier;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;

/**
 * A connection that can say what it does.
 *
 * @param owner the listener, or the upstream; empty for a listener without a name, which is called by its address
 * @param peer asked for on its event loop, as is the use
 * @param opened on the scale of {@link System#nanoTime()}
 */
public record DescribedConnection(
        Channel channel,
        ConnectionSide side,
        String owner,
        Supplier<@Nullable SocketAddress> peer,
        Supplier<ConnectionUse> use,
        long opened) {

    /** What it does now. Called on its event loop. */
    ConnectionDescription describe() {
        ChannelOutboundBuffer out = channel.unsafe().outboundBuffer();
        String local = String.valueOf(channel.localAddress());
        ConnectionUse now = use.get();
        return new ConnectionDescription(
                side,
                owner.isEmpty() ? local : owner,
                String.valueOf(peer.get()),
                local,
                now.protocol(),
                tls(),
                Duration.ofNanos(System.nanoTime() - opened),
                now.idle(),
                now.streams(),
                out == null ? 0 : out.totalPendingWriteBytes());
    }

    private @Nullable String tls() {
        SslHandler handler = channel.pipeline().get(SslHandler.class);
        if (handler == null) {
            return null;
        }
        SSLSession session = handler.engine().getSession();
        return session.getProtocol() + " " + session.getCipherSuite();
    }
}
