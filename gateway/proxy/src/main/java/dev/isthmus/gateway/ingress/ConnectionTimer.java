package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.net.ConnectionPolicy;
import dev.isthmus.gateway.net.ConnectionTimeouts;
import dev.isthmus.gateway.net.OpenConnections;
import dev.isthmus.gateway.net.TimeoutRule;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.EventLoop;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The timer of a client's connection. It periodically checks what has progressed since the last check, so that requests
 * need neither timers nor clock reads of their own.
 */
final class ConnectionTimer extends ChannelInboundHandlerAdapter {
    private static final Logger LOG = LoggerFactory.getLogger(ConnectionTimer.class);

    private final ConnectionPolicy policy;
    private final OpenConnections connections;
    private final WriteProgress writes = new WriteProgress();
    private @Nullable TimedPeer protocol;
    private @Nullable ScheduledFuture<?> checks;
    private @Nullable EventLoop loop;
    private long openedAt;
    /** Timeout of the TLS handshake; 0 when it has ended. */
    private long handshakeNanos;

    private boolean handshakeTimedOut;
    private boolean logged;

    /** A protocol handler that knows what the connection is waiting for. */
    interface TimedPeer {
        /**
         * Ends what has timed out.
         *
         * @param expired called for each expired limit
         */
        void checkTime(long now, ConnectionTimeouts timeouts, Consumer<TimeoutRule> expired);
    }

    /** @param handshakeNanos timeout of the TLS handshake; 0 if there is none */
    ConnectionTimer(ConnectionPolicy policy, OpenConnections connections, long handshakeNanos) {
        this.policy = policy;
        this.connections = connections;
        this.handshakeNanos = handshakeNanos;
    }

    /** The TLS handshake has succeeded: from now on the client's first request is due. */
    void handshakeEnded() {
        handshakeNanos = 0;
        openedAt = ticks();
    }

    /** Whether the connection was closed because of the TLS handshake. */
    boolean handshakeTimedOut() {
        return handshakeTimedOut;
    }

    private long ticks() {
        return loop == null ? 0 : loop.ticker().nanoTime();
    }

    /** Sets the handler once the protocol of the connection is known. */
    void watch(TimedPeer timed) {
        protocol = timed;
    }

    @Override
    public void handlerAdded(ChannelHandlerContext ctx) {
        long interval = policy.timeouts().interval(handshakeNanos);
        if (interval > 0) {
            Channel channel = ctx.channel();
            loop = channel.eventLoop();
            openedAt = ticks();
            checks = channel.eventLoop()
                    .scheduleWithFixedDelay(() -> check(channel), interval, interval, TimeUnit.NANOSECONDS);
        }
    }

    @Override
    public void handlerRemoved(ChannelHandlerContext ctx) {
        if (checks != null) {
            checks.cancel(false);
        }
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        handlerRemoved(ctx);
        ctx.fireChannelInactive();
    }

    private void check(Channel channel) {
        long now = channel.eventLoop().ticker().nanoTime();
        ConnectionTimeouts timeouts = policy.timeouts();
        if (connections.crowded(policy)) {
            timeouts = timeouts.crowded();
        }
        TimedPeer peer = protocol;
        if (writes.stalled(channel.unsafe().outboundBuffer(), now, timeouts)) {
            expired(channel, TimeoutRule.WRITE);
            channel.close();
        } else if (handshakeNanos > 0) {
            checkHandshake(channel, now);
        } else if (peer != null) {
            peer.checkTime(now, timeouts, rule -> expired(channel, rule));
        } else if (ConnectionTimeouts.passed(timeouts.requestHeaders(), openedAt, now)) {
            expired(channel, TimeoutRule.REQUEST_HEADERS);
            channel.close();
        }
    }

    private void checkHandshake(Channel channel, long now) {
        if (ConnectionTimeouts.passed(handshakeNanos, openedAt, now)) {
            handshakeTimedOut = true;
            expired(channel, TimeoutRule.TLS_HANDSHAKE);
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

    /** Tracks whether the client reads what is written to its socket. */
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
