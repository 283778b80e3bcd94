package dev.isthmus.gateway.net;

import dev.isthmus.gateway.net.ConnectionDescription.ConnectionSide;
import dev.isthmus.gateway.net.ConnectionDescription.ConnectionUse;
import io.netty.channel.Channel;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.function.Supplier;
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
        return ConnectionDescription.of(
                channel,
                side,
                owner.isEmpty() ? String.valueOf(channel.localAddress()) : owner,
                peer.get(),
                Duration.ofNanos(System.nanoTime() - opened),
                use.get());
    }
}
