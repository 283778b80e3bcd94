package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.net.CloseCause;
import dev.isthmus.gateway.net.ConnectionDescription.ConnectionUse;
import dev.isthmus.gateway.net.ConnectionDrain.DrainStep;
import dev.isthmus.gateway.net.ConnectionMemory.ConnectionShare;
import dev.isthmus.gateway.net.ConnectionPolicy;
import dev.isthmus.gateway.net.ConnectionTimeouts;
import dev.isthmus.gateway.net.OpenConnections;
import dev.isthmus.gateway.net.TimeoutRule;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.FailureCause;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;
import io.netty.channel.EventLoop;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The timer of a client's connection. It periodically checks what has progressed since the last check, so that requests
 * need neither timers nor clock reads of their own. It also ends the connection when the gateway drains, and reports why
 * the connection was closed. The first handler of its pipeline.
 */
final class ConnectionTimer extends ChannelDuplexHandler {
    private static final Logger LOG = LoggerFactory.getLogger(ConnectionTimer.class);
    /** Time for the first byte of a connection when the gateway drains. */
    private static final long UNUSED_SECONDS = 1;

    private static final Duration SOON = Duration.ofSeconds(1);

    private final ConnectionPolicy policy;
    private final OpenConnections connections;
    private final WriteProgress writes = new WriteProgress();
    private @Nullable ProtocolHandler protocol;
    private @Nullable ScheduledFuture<?> checks;
    private @Nullable ConnectionShare share;
    /** Bytes received before the protocol was known. */
    private long received;
    /** What {@link ProtocolHandler#progress} was, and since when. */
    private long progress;

    private long progressAt;
    private @Nullable EventLoop loop;
    private long openedAt;
    /** Timeout of the TLS handshake; 0 when it has ended. */
    private long handshakeNanos;

    private boolean handshakeTimedOut;
    private boolean logged;
    private @Nullable CloseCause cause;

    /** A protocol handler that knows what the connection is waiting for. */
    interface ProtocolHandler {
        /**
         * Ends what has timed out.
         *
         * @param expired called for each expired limit
         */
        void checkTime(long now, ConnectionTimeouts timeouts, Consumer<TimeoutRule> expired);

        /** The memory that requests take whose heads or bodies are incomplete, in bytes. */
        long incompleteBytes();

        /** The memory that is kept of earlier requests, in bytes. */
        long rememberedBytes();

        /** A number that changes when the connection makes progress. */
        long progress();

        /** Whether a request is being served that does not wait for its client. */
        boolean serving();

        /** Connections hold too much: closes this one at once, with a response where one is possible. */
        void overloaded(OipException why);

        /** How the connection is used. */
        ConnectionUse use(long now);

        /** Tells the client not to send further requests, and closes the connection after the last response. */
        void drain();

        /** Fails the requests that have not ended with this error, and closes the connection after the responses. */
        void shutDown(OipException why);
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

    /** How the connection is used; to be called on its event loop. */
    ConnectionUse use() {
        ProtocolHandler handler = protocol;
        if (handler != null) {
            return handler.use(ticks());
        }
        return new ConnectionUse(handshakeNanos > 0 ? "TLS handshake" : "first bytes awaited", 0, null);
    }

    private long ticks() {
        return loop == null ? 0 : loop.ticker().nanoTime();
    }

    /** Joins the drain of the gateway if there is one. */
    void start(Channel channel) {
        apply(channel, connections.drain().step());
    }

    /** Sets the handler once the protocol of the connection is known. */
    void watch(Channel channel, ProtocolHandler handler) {
        protocol = handler;
        apply(channel, connections.drain().step());
    }

    @Override
    public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
        if (event instanceof DrainStep step) {
            apply(ctx.channel(), step);
        } else {
            ctx.fireUserEventTriggered(event);
        }
    }

    private void apply(Channel channel, DrainStep step) {
        ProtocolHandler handler = protocol;
        switch (step) {
            case SERVING -> {}
            case DRAINING -> {
                if (handler != null) {
                    handler.drain();
                } else {
                    channel.eventLoop().schedule(() -> closeUnused(channel), UNUSED_SECONDS, TimeUnit.SECONDS);
                }
            }
            case ENDING -> {
                if (handler != null) {
                    handler.shutDown(new OipException(ErrorCode.UNAVAILABLE, "the gateway is shutting down")
                            .because(FailureCause.SHUTDOWN));
                } else {
                    channel.close();
                }
            }
        }
    }

    /** A client that has just connected may be about to send its first request. */
    private void closeUnused(Channel channel) {
        if (protocol == null) {
            channel.close();
        }
    }

    @Override
    public void handlerAdded(ChannelHandlerContext ctx) {
        share = connections.memory().share(ctx.channel().eventLoop(), () -> overloaded(ctx.channel()));
        long interval = policy.timeouts().interval(handshakeNanos);
        if (interval > 0) {
            Channel channel = ctx.channel();
            loop = channel.eventLoop();
            openedAt = ticks();
            checks = channel.eventLoop()
                    .scheduleWithFixedDelay(() -> checkOrClose(channel), interval, interval, TimeUnit.NANOSECONDS);
        }
    }

    @Override
    public void channelActive(ChannelHandlerContext ctx) {
        policy.events().opened();
        ctx.fireChannelActive();
    }

    @Override
    public void handlerRemoved(ChannelHandlerContext ctx) {
        if (checks != null) {
            checks.cancel(false);
        }
    }

    /** Not called if the client closes the connection. */
    @Override
    public void close(ChannelHandlerContext ctx, ChannelPromise promise) {
        closing(connections.drain().draining() ? CloseCause.DRAIN : CloseCause.GATEWAY);
        ctx.close(promise);
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable failure) {
        if (failure instanceof IOException) {
            closing(CloseCause.CLIENT);
        }
        ctx.fireExceptionCaught(failure);
    }

    private void closing(CloseCause reason) {
        if (cause == null) {
            cause = reason;
        }
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        handlerRemoved(ctx);
        if (share != null) {
            share.release();
        }
        policy.events().closed(cause == null ? CloseCause.CLIENT : cause);
        ctx.fireChannelInactive();
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        if (protocol == null && message instanceof ByteBuf bytes) {
            received += bytes.readableBytes();
        }
        ctx.fireChannelRead(message);
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
        ctx.fireChannelReadComplete();
        ProtocolHandler handler = protocol;
        long incomplete = handler == null ? received : handler.incompleteBytes();
        long remembered = handler == null ? 0 : handler.rememberedBytes();
        // A connection whose requests have all ended needs no clock.
        if (share != null && (incomplete > 0 || share.bytes() != remembered)) {
            count(share, ctx.channel().eventLoop().ticker().nanoTime());
        }
    }

    /** Counts what the connection holds apart from calls. */
    private void count(ConnectionShare counted, long now) {
        ProtocolHandler handler = protocol;
        long made = handler == null ? 0 : handler.progress();
        if (made != progress || counted.bytes() == 0) {
            progress = made;
            progressAt = now;
        }
        if (handler == null) {
            counted.set(received, false, progressAt);
        } else {
            counted.set(handler.incompleteBytes() + handler.rememberedBytes(), handler.serving(), progressAt);
        }
    }

    private void overloaded(Channel channel) {
        ProtocolHandler handler = protocol;
        if (!channel.isActive()) {
            return;
        }
        if (share != null && handler != null && handler.serving() && handler.incompleteBytes() == 0) {
            // The request became complete meanwhile.
            share.spare();
            return;
        }
        policy.events().refused(OpenConnections.ConnectionLimit.MEMORY);
        if (handler == null) {
            channel.close();
        } else {
            handler.overloaded(
                    OipException.refused(ErrorCode.OVERLOADED, "memory limit of incomplete requests reached", SOON));
        }
    }

    /** A fault ends the connection, which has no further check. */
    private void checkOrClose(Channel channel) {
        try {
            check(channel);
        } catch (RuntimeException | OutOfMemoryError e) {
            channel.pipeline().fireExceptionCaught(e);
        }
    }

    private void check(Channel channel) {
        long now = channel.eventLoop().ticker().nanoTime();
        if (share != null) {
            count(share, now);
        }
        ConnectionTimeouts timeouts = policy.timeouts();
        if (connections.crowded(policy)) {
            timeouts = timeouts.crowded();
        }
        ProtocolHandler peer = protocol;
        if (writes.stalled(channel.unsafe().outboundBuffer(), now, timeouts)) {
            expired(channel, TimeoutRule.WRITE);
            channel.close();
        } else if (handshakeNanos > 0) {
            if (ConnectionTimeouts.passed(handshakeNanos, openedAt, now)) {
                handshakeTimedOut = true;
                expired(channel, TimeoutRule.TLS_HANDSHAKE);
                channel.close();
            }
        } else if (peer != null) {
            peer.checkTime(now, timeouts, rule -> expired(channel, rule));
        } else if (ConnectionTimeouts.passed(timeouts.requestHeaders(), openedAt, now)) {
            expired(channel, TimeoutRule.REQUEST_HEADERS);
            channel.close();
        }
    }

    private void expired(Channel channel, TimeoutRule rule) {
        policy.events().timedOut(rule);
        closing(CloseCause.TIMEOUT);
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
