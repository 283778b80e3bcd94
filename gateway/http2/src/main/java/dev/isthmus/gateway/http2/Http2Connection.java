package dev.isthmus.gateway.http2;

import dev.isthmus.gateway.http2.Http2Stream.StreamFlag;
import dev.isthmus.gateway.net.ConnectionTimeouts;
import dev.isthmus.gateway.net.TimeoutRule;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.http2.Http2Error;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * HTTP/2 on one channel, in either role: the last handler of its pipeline, which reads and writes bytes. It sends its
 * preface as soon as the channel is active. All methods must be called on the channel's event loop.
 */
public final class Http2Connection extends ChannelInboundHandlerAdapter {
    private final boolean server;
    private final Http2Options options;
    private final Function<Http2Stream, StreamListener> accept;
    private final ConnectionListener listener;
    private final LongSupplier nanos;
    private @Nullable Http2Session session;
    private @Nullable FrameTurns frames;
    private @Nullable Http2Timers timers;
    private boolean prefaceSent;
    private boolean closeNotified;

    Http2Connection(
            boolean server,
            Http2Options options,
            Function<Http2Stream, StreamListener> accept,
            ConnectionListener listener,
            LongSupplier nanos) {
        this.server = server;
        this.options = options;
        this.accept = accept;
        this.listener = listener;
        this.nanos = nanos;
    }

    /**
     * The server side of a connection.
     *
     * @param accept called for each request before its headers are delivered; returns the stream's listener
     */
    public static Http2Connection server(
            Http2Options options, Function<Http2Stream, StreamListener> accept, ConnectionListener listener) {
        return new Http2Connection(true, options, accept, listener, System::nanoTime);
    }

    /** The client side of a connection. */
    public static Http2Connection client(Http2Options options, ConnectionListener listener) {
        return new Http2Connection(false, options, stream -> NoopStreamListener.INSTANCE, listener, System::nanoTime);
    }

    /**
     * Opens a stream by sending a request's headers.
     *
     * @return null if {@link #acceptsStreams} is false
     */
    public @Nullable Http2Stream open(HeaderFieldList head, boolean end, StreamListener events) {
        Http2Session open = session;
        return open != null && open.acceptsStreams() ? open.open(head, end, events) : null;
    }

    /** Whether {@link #open} may open a stream: the channel is active, no GOAWAY, below the peer's stream limit. */
    public boolean acceptsStreams() {
        return session != null && session.acceptsStreams();
    }

    public int openStreams() {
        return session == null ? 0 : session.streams().size();
    }

    /**
     * Sends a keepalive PING, unless an earlier one is not acknowledged yet.
     *
     * @param acknowledged called when it is acknowledged, instead of the action of the earlier one
     */
    public void ping(Runnable acknowledged) {
        if (session != null && !session.isClosed()) {
            session.shutdown().ping(acknowledged);
        }
    }

    /**
     * Shuts down gracefully: accepts no new streams, and closes the connection when the open ones have ended. A server
     * first sends a warning GOAWAY and still accepts streams in flight (RFC 9113, 6.8). There is no timeout: the caller
     * may {@link #close}.
     */
    public void goAway() {
        if (session != null && !session.isClosed()) {
            session.shutdown().goAway(Http2Error.NO_ERROR);
        }
    }

    /** Calls the action with the listener of each open stream. */
    public void forEachListener(Consumer<StreamListener> action) {
        if (session != null) {
            session.streams().inOrder().forEach(stream -> action.accept(stream.listener()));
        }
    }

    /** Closes the connection at once, and all its streams with it. */
    public void close() {
        closeWith(null);
    }

    /**
     * As {@link #close()}.
     *
     * @param why the cause reported to the listeners of open streams
     */
    public void closeWith(@Nullable Throwable why) {
        if (session != null) {
            session.close(why);
        }
    }

    /**
     * Enforces the timeouts on the connection and its streams. To be called periodically.
     *
     * @param now from the same clock on each call, in nanoseconds
     * @param expired called for each timeout that has expired
     */
    public void checkTime(long now, ConnectionTimeouts timeouts, Consumer<TimeoutRule> expired) {
        Http2Session open = session;
        FrameTurns read = frames;
        if (open == null || read == null || open.isClosed()) {
            return;
        }
        Http2Timers started = timers;
        if (started == null) {
            started = new Http2Timers(open, read.reader(), now);
            timers = started;
        }
        started.check(read.count(), now, timeouts, expired);
    }

    /** Nanoseconds since the connection had a stream, as far as the last {@link #checkTime} knows. */
    public long idleNanos(long now) {
        return timers == null || openStreams() > 0 ? 0 : Math.max(0, now - timers.idleSince());
    }

    /** The memory that incomplete frames and header blocks take, in bytes. */
    public long incompleteBytes() {
        return frames == null ? 0 : frames.reader().held();
    }

    /** The memory that header blocks take which were decoded before, in bytes. */
    public long rememberedBytes() {
        return frames == null ? 0 : frames.remembered();
    }

    /** The number of frames that have begun, without CONTINUATION. */
    public long framesBegun() {
        return frames == null ? 0 : frames.reader().framesBegun();
    }

    /** Sends GOAWAY with ENHANCE_YOUR_CALM and closes at once, without waiting for the peer to read it. */
    public void closeOverloaded() {
        if (session != null) {
            session.closeNow(Http2Error.ENHANCE_YOUR_CALM);
        }
    }

    FrameTurns frames() {
        return Objects.requireNonNull(frames, "the connection has no channel");
    }

    boolean isServer() {
        return server;
    }

    Http2Options options() {
        return options;
    }

    ConnectionListener listener() {
        return listener;
    }

    @Override
    public void handlerAdded(ChannelHandlerContext ctx) {
        Http2Session begun = new Http2Session(this, ctx, new AbuseDetector(options.abuse(), nanos));
        session = begun;
        frames = new FrameTurns(begun, ctx, new FrameHandler(begun, accept));
        if (ctx.channel().isActive()) {
            sendPreface(begun);
        }
    }

    @Override
    public void channelActive(ChannelHandlerContext ctx) {
        if (session != null) {
            sendPreface(session);
        }
        ctx.fireChannelActive();
    }

    private void sendPreface(Http2Session begun) {
        if (!prefaceSent) {
            prefaceSent = true;
            begun.sendPreface();
        }
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        frames().read((ByteBuf) message);
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
        frames().readComplete();
        ctx.fireChannelReadComplete();
    }

    @Override
    public void channelWritabilityChanged(ChannelHandlerContext ctx) {
        if (session != null && ctx.channel().isWritable()) {
            session.abuse().drained();
            session.flusher().schedule();
        }
        ctx.fireChannelWritabilityChanged();
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        if (session != null) {
            session.close(cause);
        }
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        gone();
        ctx.fireChannelInactive();
    }

    @Override
    public void handlerRemoved(ChannelHandlerContext ctx) {
        gone();
    }

    private void gone() {
        Http2Session lost = session;
        if (lost == null || closeNotified) {
            return;
        }
        closeNotified = true;
        if (frames != null) {
            frames.channelClosed();
        }
        lost.connectionLost(null);
        lost.writer().release();
        if (frames != null) {
            frames.release();
        }
        listener.closed(lost.cause());
    }

    /** Enforces the timeouts of a connection, by periodic checks. */
    private static final class Http2Timers {
        private final Http2Session session;
        private final FrameReader reader;
        private long reads;
        private long readAt;
        private boolean pinged;
        private long pingedAt;
        private long begun = -1;
        private long incompleteSince;
        private int lastStream;
        private long idleSince;
        private boolean goAwaySent;

        Http2Timers(Http2Session session, FrameReader reader, long now) {
            this.session = session;
            this.reader = reader;
            this.readAt = now;
            this.idleSince = now;
        }

        /** When the last stream ended, as far as the last check knows. */
        long idleSince() {
            return idleSince;
        }

        /** @param readsNow number of reads so far */
        void check(long readsNow, long now, ConnectionTimeouts timeouts, Consumer<TimeoutRule> expired) {
            if (readsNow != reads) {
                reads = readsNow;
                readAt = now;
                pinged = false;
            }
            for (Http2Stream stream : session.streams().all()) {
                if (!stream.is(StreamFlag.CLOSED)) {
                    stream.checkTime(now, timeouts, expired);
                }
            }
            if (incompleteFor(timeouts.requestHeaders(), now)) {
                end(TimeoutRule.REQUEST_HEADERS, Http2Error.ENHANCE_YOUR_CALM, expired);
            } else if (keepaliveExpired(timeouts, now)) {
                end(TimeoutRule.KEEPALIVE, Http2Error.NO_ERROR, expired);
            } else {
                idle(timeouts, now, expired);
            }
        }

        private void end(TimeoutRule rule, Http2Error error, Consumer<TimeoutRule> expired) {
            expired.accept(rule);
            session.closeWithGoAway(error);
        }

        private boolean incompleteFor(long timeout, long now) {
            if (!reader.incomplete() || reader.framesBegun() != begun) {
                begun = reader.framesBegun();
                incompleteSince = now;
                return false;
            }
            return ConnectionTimeouts.passed(timeout, incompleteSince, now);
        }

        private boolean keepaliveExpired(ConnectionTimeouts timeouts, long now) {
            if (pinged) {
                return ConnectionTimeouts.passed(timeouts.keepaliveTimeout(), pingedAt, now);
            }
            if (ConnectionTimeouts.passed(timeouts.keepaliveInterval(), readAt, now)) {
                session.shutdown().ping(() -> {});
                pinged = true;
                pingedAt = now;
            }
            return false;
        }

        /** Sends GOAWAY to a client without streams, and closes the connection if the client does not. */
        private void idle(ConnectionTimeouts timeouts, long now, Consumer<TimeoutRule> expired) {
            int last = session.streams().lastOfPeer();
            if (session.streams().size() > 0 || last != lastStream) {
                lastStream = last;
                idleSince = now;
            } else if (goAwaySent && ConnectionTimeouts.passed(timeouts.requestHeaders(), idleSince, now)) {
                session.closeWithGoAway(Http2Error.NO_ERROR);
            } else if (!goAwaySent && ConnectionTimeouts.passed(timeouts.idle(), idleSince, now)) {
                goAwaySent = true;
                idleSince = now;
                expired.accept(TimeoutRule.IDLE);
                session.shutdown().goAway(Http2Error.NO_ERROR);
            }
        }
    }
}
