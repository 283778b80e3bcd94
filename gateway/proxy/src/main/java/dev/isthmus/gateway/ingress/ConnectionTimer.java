package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.net.ConnectionPolicy;
import dev.isthmus.gateway.net.ConnectionTimeouts;
import dev.isthmus.gateway.net.OpenConnections;
import dev.isthmus.gateway.net.TimeoutRule;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOutboundBuffer;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The one timer of a client's connection. It looks from time to time at what has moved since the last look, so that nothing
 * is scheduled, and no clock read, for a request.
 */
final class ConnectionTimer extends ChannelInboundHandlerAdapter {
    private static final Logger LOG = LoggerFactory.getLogger(ConnectionTimer.class);

    private final ConnectionPolicy policy;
    private final OpenConnections connections;
    private final WriteProgress writes = new WriteProgress();
    private @Nullable TimedPeer protocol;
    private @Nullable ScheduledFuture<?> looks;
    private long openedAt;
    private boolean logged;

    /** What knows which part of the client's is waited for. */
    interface TimedPeer {
        /**
         * Ends what takes too long.
         *
         * @param expired told of each limit that is met
         */
        void checkTime(long now, ConnectionTimeouts timeouts, Consumer<TimeoutRule> expired);
    }

    ConnectionTimer(ConnectionPolicy policy, OpenConnections connections) {
        this.policy = policy;
        this.connections = connections;
    }

    /** The protocol of the connection is known. */
    void watch(TimedPeer timed) {
        protocol = timed;
    }

    @Override
    public void handlerAdded(ChannelHandlerContext ctx) {
        long interval = policy.timeouts().interval();
        if (interval > 0) {
            Channel channel = ctx.channel();
            openedAt = channel.eventLoop().ticker().nanoTime();
            looks = channel.eventLoop()
                    .scheduleWithFixedDelay(() -> look(channel), interval, interval, TimeUnit.NANOSECONDS);
        }
    }

    @Override
    public void handlerRemoved(ChannelHandlerContext ctx) {
        if (looks != null) {
            looks.cancel(false);
        }
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        handlerRemoved(ctx);
        ctx.fireChannelInactive();
    }

    private void look(Channel channel) {
        long now = channel.eventLoop().ticker().nanoTime();
        ConnectionTimeouts timeouts = policy.timeouts();
        if (connections.crowded(policy)) {
            timeouts = timeouts.crowded();
        }
        TimedPeer known = protocol;
        if (writes.stalled(channel.unsafe().outboundBuffer(), now, timeouts)) {
            expired(channel, TimeoutRule.WRITE);
            channel.close();
        } else if (known != null) {
            known.checkTime(now, timeouts, rule -> expired(channel, rule));
        } else if (ConnectionTimeouts.passed(timeouts.requestHeaders(), openedAt, now)) {
            expired(channel, TimeoutRule.REQUEST_HEADERS);
            channel.close();
        }
    }

    private void expired(Channel channel, TimeoutRule rule) {
        policy.events().timedOut(rule);
        if (!logged) {
            logged = true;
            LOG.debug(
                    "client {}: {}", channel.remoteAddress(), policy.timeouts().describe(rule));
        }
    }

    /** Whether the client takes what is written to its socket. */
    private static final class WriteProgress {
        private @Nullable Object first;
        private long firstWritten;
        private long since;

        boolean stalled(@Nullable ChannelOutboundBuffer buffer, long now, ConnectionTimeouts timeouts) {
            Object current = buffer == null ? null : buffer.current();
            long written = buffer == null ? 0 : buffer.currentProgress();
            if (current == null || current != first || written != firstWritten) {
                first = current;
                firstWritten = written;
                since = now;
                return false;
            }
            return ConnectionTimeouts.passed(timeouts.write(), since, now);
        }
    }
}
