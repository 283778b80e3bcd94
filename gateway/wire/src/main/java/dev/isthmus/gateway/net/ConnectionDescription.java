package dev.isthmus.gateway.net;

import io.netty.channel.Channel;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.handler.ssl.SslHandler;
import java.net.SocketAddress;
import java.time.Duration;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;

/**
 * What a connection does at one moment.
 *
 * @param side client: a client made it; server: the gateway made it to a server
 * @param owner the listener, or the upstream
 * @param peer the address of the other end
 * @param protocol HTTP/1.1, HTTP/2, or what it waits for before that is known
 * @param tls version and cipher suite; null for plain text
 * @param idle time since it was last used; null if it is not known
 * @param streams requests that have not ended
 * @param bytesWaiting bytes that wait for the other end to read
 */
public record ConnectionDescription(
        ConnectionSide side,
        String owner,
        String peer,
        String local,
        String protocol,
        @Nullable String tls,
        Duration age,
        @Nullable Duration idle,
        int streams,
        long bytesWaiting) {

    public enum ConnectionSide {
        CLIENT,
        SERVER
    }

    public record ConnectionUse(
            String protocol, int streams, @Nullable Duration idle) {}

    /** Describes a channel; to be called on its event loop. */
    static ConnectionDescription of(
            Channel channel,
            ConnectionSide side,
            String owner,
            @Nullable SocketAddress peer,
            Duration age,
            ConnectionUse use) {
        ChannelOutboundBuffer out = channel.unsafe().outboundBuffer();
        return new ConnectionDescription(
                side,
                owner,
                String.valueOf(peer),
                String.valueOf(channel.localAddress()),
                use.protocol(),
                tls(channel),
                age,
                use.idle(),
                use.streams(),
                out == null ? 0 : out.totalPendingWriteBytes());
    }

    private static @Nullable String tls(Channel channel) {
        SslHandler handler = channel.pipeline().get(SslHandler.class);
        if (handler == null) {
            return null;
        }
        SSLSession session = handler.engine().getSession();
        return session.getProtocol() + " " + session.getCipherSuite();
    }
}
