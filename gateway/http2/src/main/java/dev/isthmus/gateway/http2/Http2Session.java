package dev.isthmus.gateway.http2;

import dev.isthmus.gateway.http2.Http2Stream.StreamFlag;
import dev.isthmus.gateway.net.LingeringClose;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.gateway.net.TimeoutRule;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.util.concurrent.EventExecutor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The state of a connection while it has a channel: its streams, and how streams and connection end. */
final class Http2Session {
    private static final Logger LOG = LoggerFactory.getLogger(Http2Session.class);

    /**
     * A client that received its response early is asked to stop sending only after this time. Data that it sends until
     * then, up to its window, is dropped but still checked against the protocol.
     */
    private static final long STOP_MILLIS = 1_000;

    private final Http2Connection connection;
    private final ChannelHandlerContext ctx;
    private final StreamRegistry streams;
    private final AbuseDetector abuse;
    private final FrameWriter writer;
    private final OutboundFlowControl sender;
    private final Flusher flusher;
    private final GracefulShutdown shutdown;
    private boolean closed;
    private @Nullable Throwable cause;

    Http2Session(Http2Connection connection, ChannelHandlerContext ctx, AbuseDetector abuse) {
        this.connection = connection;
        this.ctx = ctx;
        this.abuse = abuse;
        this.streams = new StreamRegistry(connection.isServer());
        this.writer = new FrameWriter(ctx);
        this.sender = new OutboundFlowControl(this, writer, ctx.channel(), abuse);
        this.flusher = new Flusher();
        this.shutdown = new GracefulShutdown(this, connection.isServer());
    }

    Http2Connection connection() {
        return connection;
    }

    StreamRegistry streams() {
        return streams;
    }

    FrameWriter writer() {
        return writer;
    }

    OutboundFlowControl sender() {
        return sender;
    }

    Flusher flusher() {
        return flusher;
    }

    GracefulShutdown shutdown() {
        return shutdown;
    }

    AbuseDetector abuse() {
        return abuse;
    }

    int streamWindow() {
        return connection.options().streamWindow();
    }

    boolean isClosed() {
        return closed;
    }

    @Nullable
    Throwable cause() {
        return cause;
    }

    /** The first frames of the connection (RFC 9113, 3.4). */
    void sendPreface() {
        Http2Options options = connection.options();
        boolean server = connection.isServer();
        if (!server) {
            writer.preface();
        }
        writer.settings(
                server ? PeerSettings.MAX_CONCURRENT_STREAMS : PeerSettings.ENABLE_PUSH,
                server ? options.maxConcurrentStreams() : 0,
                PeerSettings.INITIAL_WINDOW_SIZE,
                options.streamWindow(),
                PeerSettings.MAX_FRAME_SIZE,
                options.maxFrameSize(),
                PeerSettings.MAX_HEADER_LIST_SIZE,
                options.maxHeaderBytes());
        if (options.connectionWindow() > Http2Options.DEFAULT_WINDOW) {
            writer.windowUpdate(0, options.connectionWindow() - Http2Options.DEFAULT_WINDOW);
        }
        flusher.schedule();
    }

    boolean acceptsStreams() {
        return !closed && ctx.channel().isActive() && shutdown.acceptsNewStreams() && streams.mayOpen();
    }

    Http2Stream newStream(int id) {
        // Until the peer has our SETTINGS, it may send up to the default window.
        int window = Math.max(streamWindow(), Http2Options.DEFAULT_WINDOW);
        Http2Stream stream = new Http2Stream(this, id, sender.streamWindow(), window);
        streams.add(stream);
        return stream;
    }

    Http2Stream open(HeaderFieldList head, boolean end, StreamListener listener) {
        Http2Stream stream = newStream(streams.nextOwn());
        stream.listener(listener);
        abuse.progress();
        stream.headers(head, end);
        if (streams.exhausted()) {
            connection.listener().goingAway(Http2Error.NO_ERROR.code());
        }
        return stream;
    }

    /** END_STREAM has been written. */
    void localEnded(Http2Stream stream) {
        if (stream.is(StreamFlag.CLOSED)) {
            return;
        }
        stream.set(StreamFlag.LOCAL_ENDED);
        abuse.streamCompleted();
        if (stream.is(StreamFlag.REMOTE_ENDED)) {
            end(stream);
        } else if (connection.isServer()) {
            StreamListener listener = stream.listener();
            stream.listener(NoopStreamListener.INSTANCE);
            listener.ended();
            ctx.executor().schedule(() -> stop(stream), STOP_MILLIS, TimeUnit.MILLISECONDS);
        }
    }

    /** Asks the peer to stop sending a request whose response is complete (RFC 9113, 8.1). */
    private void stop(Http2Stream stream) {
        if (!closed && !stream.is(StreamFlag.CLOSED)) {
            reset(stream, Http2Error.NO_ERROR.code());
        }
    }

    /** END_STREAM was received and delivered. */
    void remoteEnded(Http2Stream stream) {
        if (!stream.is(StreamFlag.CLOSED) && stream.is(StreamFlag.LOCAL_ENDED)) {
            end(stream);
        }
    }

    void reset(Http2Stream stream, long errorCode) {
        writeReset(stream.id(), errorCode);
        end(stream);
    }

    void writeReset(int streamId, long errorCode) {
        countQueuedFrame();
        writer.reset(streamId, errorCode);
        streams.rememberReset(streamId);
        flusher.schedule();
    }

    /** A frame that is not flow-controlled is about to be written. */
    void countQueuedFrame() {
        if (!ctx.channel().isWritable()) {
            abuse.queued();
        }
    }

    /** A stream error: resets the stream and reports it to its listener. */
    void streamError(Http2Stream stream, Http2Error error, String message) {
        writeReset(stream.id(), error.code());
        abort(stream, new StreamEnd(StreamEnd.Cause.VIOLATION, error.code(), new Http2Violation(error, message)));
        abuse.error();
    }

    /** Ends a stream early and notifies its listener. */
    void abort(Http2Stream stream, StreamEnd how) {
        StreamListener listener = stream.listener();
        end(stream);
        try {
            listener.closed(how);
        } catch (RuntimeException | OutOfMemoryError e) {
            RepeatingLogEvent.fault(LOG, e).log("internal error in an HTTP/2 stream; please report it");
        }
    }

    /**
     * The listener of a stream failed, or had no direct memory, which others release: resets the stream with
     * INTERNAL_ERROR.
     */
    void listenerFailed(Http2Stream stream, Throwable e) {
        RepeatingLogEvent.fault(LOG, e).log("internal error in an HTTP/2 stream; please report it");
        if (!stream.is(StreamFlag.CLOSED)) {
            writeReset(stream.id(), Http2Error.INTERNAL_ERROR.code());
            abort(stream, new StreamEnd(StreamEnd.Cause.LOST, Http2Error.INTERNAL_ERROR.code(), e));
        }
    }

    /**
     * A timeout on a stream expired: its listener responds, or the stream is reset. A client of a response that is
     * written is asked to stop sending as after any other response: a reset right behind it would hide its status.
     */
    void timedOut(Http2Stream stream, TimeoutRule rule) {
        try {
            stream.listener().peerTimedOut(rule);
        } catch (RuntimeException | OutOfMemoryError e) {
            listenerFailed(stream, e);
        }
        if (!stream.is(StreamFlag.CLOSED) && !stream.is(StreamFlag.LOCAL_ENDED)) {
            writeReset(stream.id(), Http2Error.CANCEL.code());
            abort(stream, new StreamEnd(StreamEnd.Cause.LOST, Http2Error.CANCEL.code(), null));
        }
    }

    void becameWritable(Http2Stream stream) {
        try {
            stream.listener().writabilityChanged();
        } catch (RuntimeException | OutOfMemoryError e) {
            listenerFailed(stream, e);
        }
    }

    private void end(Http2Stream stream) {
        stream.set(StreamFlag.CLOSED);
        sender.remove(stream);
        streams.remove(stream);
        stream.listener().ended();
        connection.listener().streamClosed();
        shutdown.closeIfDone();
    }

    /** A connection error: sends GOAWAY and closes. */
    void connectionError(Http2Violation violation) {
        if (!closed) {
            cause = violation;
            AbuseRule rule = violation.rule();
            if (rule != null) {
                connection.listener().abused(rule, String.valueOf(violation.getMessage()));
            }
            closeWithGoAway(violation.error());
        }
    }

    /** Sends GOAWAY and closes, with all open streams. */
    void closeWithGoAway(Http2Error error) {
        if (!closed) {
            writer.goAway(streams.lastOfPeer(), error.code());
            closeAfterFlush();
        }
    }

    /** Sends GOAWAY and closes at once, whether the peer reads it or not. */
    void closeNow(Http2Error error) {
        if (!closed) {
            writer.goAway(streams.lastOfPeer(), error.code());
            writer.flushLast();
            connectionLost(cause);
        }
        ctx.close();
    }

    /** Closes after all written bytes were flushed. A client, whose streams have ended, waits a second for that. */
    void closeAfterFlush() {
        if (!closed) {
            writer.flushLast().addListener(LingeringClose.INSTANCE);
            if (!connection.isServer()) {
                ctx.executor().schedule(() -> ctx.close(), STOP_MILLIS, TimeUnit.MILLISECONDS);
            }
            connectionLost(cause);
        }
    }

    void close(@Nullable Throwable why) {
        if (!closed) {
            connectionLost(why);
            ctx.close();
        }
    }

    /** The connection is gone: ends all its streams. */
    void connectionLost(@Nullable Throwable why) {
        if (closed) {
            return;
        }
        closed = true;
        cause = why;
        long code = why instanceof Http2Violation violation ? violation.error().code() : shutdown.peerError();
        for (Http2Stream stream : streams.all()) {
            if (!stream.is(StreamFlag.CLOSED)) {
                abort(stream, new StreamEnd(StreamEnd.Cause.LOST, code, why));
            }
        }
    }

    /** Flushes written frames to the socket in one call: after a read, or in the next task of the event loop. */
    final class Flusher implements Runnable {
        private final EventExecutor loop = ctx.executor();
        private boolean reading;
        private boolean dirty;

        /** Schedules a flush: a frame was written, or queued data became sendable. */
        void schedule() {
            if (!dirty) {
                dirty = true;
                if (!reading) {
                    loop.execute(this);
                }
            }
        }

        /** Defers flushes until {@link #readComplete}. */
        void readBegins() {
            reading = true;
        }

        void readComplete() {
            reading = false;
            run();
        }

        @Override
        public void run() {
            if (dirty) {
                try {
                    sender.writeQueued();
                } finally {
                    // Writes that the flush itself triggers are flushed by a task of their own.
                    dirty = false;
                }
                writer.flush();
                sender.notifyWritable();
            }
        }
    }
}
