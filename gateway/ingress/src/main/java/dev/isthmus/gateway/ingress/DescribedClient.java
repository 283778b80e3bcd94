package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.net.ConnectionDescription;
import dev.isthmus.gateway.net.ConnectionDescription.ConnectionSide;
import dev.isthmus.gateway.net.DescribedConnection;
import io.netty.channel.Channel;
import java.time.Duration;

/**
 * A client's connection.
 *
 * @param listener the name of the listener, or its address
 * @param opened on the scale of {@link System#nanoTime()}
 */
record DescribedClient(Channel channel, String listener, ConnectionTimer timer, long opened)
        implements DescribedConnection {

    @Override
    public ConnectionDescription describe() {
        return ConnectionDescription.of(
                channel,
                ConnectionSide.CLIENT,
                listener.isEmpty() ? String.valueOf(channel.localAddress()) : listener,
                ProxyProtocolHandler.peer(channel),
                Duration.ofNanos(System.nanoTime() - opened),
                timer.use());
    }
}
