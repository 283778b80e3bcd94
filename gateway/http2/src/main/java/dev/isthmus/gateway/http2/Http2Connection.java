package dev.isthmus.gateway.http2;

import dev.isthmus.gateway.net.ConnectionTimeouts;
import dev.isthmus.gateway.net.TimeoutRule;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.util.ReferenceCountUtil;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * HTTP/2 on one channel, in either role: the last handler of its pipeline, which gets bytes and writes bytes. It says
 * hello as soon as the channel is active. All methods are for the channel's event loop.
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
    private boolean greeted;
    private boolean toldClosed;

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
     * The server's end.
     *
     * @param accept called for each request, before its head is delivered, gives the stream's listener
     */
    public static Http2Connection server(
            Http2Options options, Function<Http2Stream, StreamListener> accept, ConnectionListener listener) {
        return new Http2Connection(true, options, accept, listener, System::nanoTime);
    }

    /** The client's end. */
    public static Http2Connection client(Http2Options options, ConnectionListener listener) {
        return new Http2Connection(false, options, stream -> NoopStreamListener.INSTANCE, listener, System::nanoTime);
    }

    /**
     * Opens a stream with a request's head.
     *
     * @return null where {@link #takesStreams} is false
     */
    public @Nullable Http2Stream open(HeaderFieldList head, boolean end, StreamListener heard) {
        Http2Session open = session;
        return open != null && open.takesStreams() ? open.open(head, end, heard) : null;
    }

    /** Whether {@link #open} opens a stream: the channel is active, neither side goes away, the peer's limit is not met. */
    public boolean takesStreams() {
        return session != null && session.takesStreams();
    }

    public int openStreams() {
        return session == null ? 0 : session.streams().size();
    }

    /**
     * Asks the peer for a sign of life.
     *
     * @param answered called when it comes
     * @return false, and nothing is done, while an earlier one is unanswered or the connection is closed
     */
    public boolean ping(Runnable answered) {
        return session != null && !session.isClosed() && session.farewell().ping(answered);
    }

    /**
     * Takes no new streams, and closes the connection when the open ones have ended. A server first warns and goes on
     * taking what was on its way (RFC 9113, 6.8). How long that may take is the caller's matter: see {@link #close}.
     */
    public void goAway() {
        if (session != null && !session.isClosed()) {
            session.farewell().goAway(Http2Error.NO_ERROR);
        }
    }

    /** Closes the connection at once, and all its streams with it. */
    public void close() {
        closeWith(null);
    }

    /**
     * As {@link #close()}.
     *
     * @param why the listeners of the streams hear it as the cause of their end
     */
    public void closeWith(@Nullable Throwable why) {
        if (session != null) {
            session.close(why);
        }
    }

    /**
     * Looks at how long the peer takes, and ends what takes too long. To be called from time to time.
     *
     * @param now of one clock, in nanoseconds
     * @param expired told of each limit that is met
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
            greet(begun);
        }
    }

    @Override
    public void channelActive(ChannelHandlerContext ctx) {
        if (session != null) {
            greet(session);
        }
        ctx.fireChannelActive();
    }

    private void greet(Http2Session begun) {
        if (!greeted) {
            greeted = true;
            begun.hello();
        }
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        if (frames == null) {
            ReferenceCountUtil.release(message);
        } else {
            frames.read((ByteBuf) message);
        }
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
        if (frames != null) {
            frames.readComplete();
        }
        ctx.fireChannelReadComplete();
    }

    @Override
    public void channelWritabilityChanged(ChannelHandlerContext ctx) {
        if (session != null && ctx.channel().isWritable()) {
            session.abuse().drained();
            session.flusher().touch();
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
        if (lost == null || toldClosed) {
            return;
        }
        toldClosed = true;
        if (frames != null) {
            frames.channelClosed();
        }
        lost.lost(null);
        lost.writer().release();
        if (frames != null) {
            frames.release();
        }
        listener.closed(lost.cause());
    }
}
