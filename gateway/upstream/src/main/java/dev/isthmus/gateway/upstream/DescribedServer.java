package dev.isthmus.gateway.upstream;

import dev.isthmus.gateway.net.ConnectionDescription;
import dev.isthmus.gateway.net.ConnectionDescription.ConnectionSide;
import dev.isthmus.gateway.net.ConnectionDescription.ConnectionUse;
import dev.isthmus.gateway.net.DescribedConnection;
import io.netty.channel.Channel;
import java.time.Duration;
import java.util.function.Supplier;

/**
 * A connection to a server.
 *
 * @param use asked for on its event loop
 * @param opened on the scale of {@link System#nanoTime()}
 */
public record DescribedServer(UpstreamSettings settings, Channel channel, Supplier<ConnectionUse> use, long opened)
        implements DescribedConnection {

    /** A connection that is being opened. */
    public DescribedServer(UpstreamSettings settings, Channel channel, Supplier<ConnectionUse> use) {
        this(settings, channel, use, System.nanoTime());
    }

    @Override
    public ConnectionDescription describe() {
        return ConnectionDescription.of(
                channel,
                ConnectionSide.SERVER,
                settings.name(),
                settings.endpoint().address(),
                Duration.ofNanos(System.nanoTime() - opened),
                use.get());
    }
}
