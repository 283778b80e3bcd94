package dev.isthmus.gateway.http2;

import dev.isthmus.gateway.http2.Http2Stream.StreamFlag;
import dev.isthmus.gateway.http2.StreamListener.PeerWait;
import dev.isthmus.gateway.net.BodyProgress;
import dev.isthmus.gateway.net.ConnectionTimeouts;
import dev.isthmus.gateway.net.TimeoutRule;
import dev.isthmus.gateway.net.Turn;
import io.netty.buffer.ByteBuf;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One request and its response. All methods must be called on the connection's event loop. They have no effect once the
 * stream has ended; buffers are released.
 */
public final class Http2Stream {
    private static final int MAX_INTERIM = 32;

    private final Http2Session session;
    private final int id;
    private StreamListener listener = NoopStreamListener.INSTANCE;
    private @Nullable SendQueue queue;
    private int sendWindow;
    private int receiveWindow;
    /** Bytes that the peer may send before {@link #consumed}. */
    private int window;

    /** Bytes consumed since the last WINDOW_UPDATE. */
    private int unacknowledged;

    /** Bytes of the content-length not yet received; -1 without content-length. */
    private long contentLeft = -1;

    /** Bytes of the peer's body. */
    private long received;

    /** Bytes of our body. */
    private long sent;

    /** Created by the first check of timeouts, since most streams end before it. */
    private @Nullable StreamTimer timer;

    private int flags;
    private int interim;
    private int headLength;

    /** The state of a stream. */
    enum StreamFlag {
        /** Everything to send was written to the stream or queued. */
        COMPLETE(1),
        /** END_STREAM was written. */
        LOCAL_ENDED(2),
        /** END_STREAM was received. */
        REMOTE_ENDED(4),
        /** The peer's headers were received. */
        HEAD_SEEN(8),
        /** Queued in the ring of streams that can send. */
        IN_RING(16),
        /** Its listener is to be notified when the stream becomes writable. */
        AWAITING(32),
        CLOSED(64),
        /** DATA was sent. */
        DATA_SENT(128),
        /** The request's headers exceed the limit and were not read in full. */
        HEAD_TOO_LARGE(256);

        private final int bit;

        StreamFlag(int bit) {
            this.bit = bit;
        }
    }

    Http2Stream(Http2Session session, int id, int sendWindow, int receiveWindow) {
        this.session = session;
        this.id = id;
        this.sendWindow = sendWindow;
        this.receiveWindow = receiveWindow;
        this.window = session.streamWindow();
    }

    public int id() {
        return id;
    }

    /** The encoded length of the request's headers, in bytes; 0 for a stream that this side has opened. */
    public int headLength() {
        return headLength;
    }

    void headLength(int bytes) {
        headLength = bytes;
    }

    /**
     * Sends header fields: a response's headers or, with {@code end}, its trailers. They are sent after all data
     * written before.
     *
     * @param end whether they end the stream. If a server ends a response before the request has ended, the client is
     *     asked to stop sending it (RST_STREAM with NO_ERROR; RFC 9113, 8.1)
     */
    public void headers(HeaderFieldList fields, boolean end) {
        if (!is(StreamFlag.CLOSED) && !is(StreamFlag.COMPLETE)) {
            session.sender().headers(this, fields, end);
        }
    }

    /**
     * Sends a part of the body. Bytes beyond the peer's windows or the socket's capacity are queued.
     *
     * @param data taken; of any size and any number of components. A {@code CompositeByteBuf} is sent as slices of its
     *     components; a slice of one with more than 512 components is copied
     */
    public void data(ByteBuf data, boolean end) {
        if (is(StreamFlag.CLOSED) || is(StreamFlag.COMPLETE)) {
            data.release();
        } else {
            session.sender().data(this, data, end);
        }
    }

    /** Whether little is queued and the channel is writable. If not, the listener is notified when that changes. */
    public boolean isWritable() {
        return session.sender().writable(this);
    }

    /** Bytes of the body that are queued for the peer's windows or for the socket. */
    public long queued() {
        return queue == null ? 0 : queue.bytes();
    }

    /** Returns flow-control credit to the peer for bytes received. */
    public void consumed(int bytes) {
        if (bytes > 0 && !is(StreamFlag.CLOSED) && !is(StreamFlag.REMOTE_ENDED)) {
            unacknowledged += bytes;
            if (unacknowledged >= (window + 1) / 2) {
                receiveWindow += unacknowledged;
                session.writer().windowUpdate(id, unacknowledged);
                session.flusher().schedule();
                unacknowledged = 0;
            }
        }
    }

    /**
     * The turn of the connection. A listener whose work on received data is more than the frame's is charged for it
     * there, and when the turn is over, goes on {@linkplain #inNextTurn in a later one}.
     */
    public Turn turn() {
        return session.connection().frames().turn();
    }

    /** Runs the task in the connection's next turn; the present {@link #turn} must be over. */
    public void inNextTurn(Runnable task) {
        session.connection().frames().inNextTurn(() -> {
            try {
                task.run();
            } catch (RuntimeException | OutOfMemoryError e) {
                session.listenerFailed(this, e);
            }
        });
    }

    /** Raises the stream's window to this many bytes; it never shrinks. */
    public void widen(int bytes) {
        if (bytes > window) {
            int more = bytes - window;
            window = bytes;
            consumed(more);
        }
    }

    /**
     * Whether the request's headers exceed the limit. The listener receives the fields read before the limit, and
     * refuses the request.
     */
    public boolean headTooLarge() {
        return is(StreamFlag.HEAD_TOO_LARGE);
    }

    /**
     * Ends the stream at once in both directions (RST_STREAM); queued data is dropped, and the listener gets no more
     * events. Has no effect if both sides have ended it, as in the callback of the last frame: servers count resets.
     */
    public void reset(long errorCode) {
        boolean over = is(StreamFlag.LOCAL_ENDED) && is(StreamFlag.REMOTE_ENDED);
        if (!is(StreamFlag.CLOSED) && !over) {
            session.reset(this, errorCode);
        }
    }

    /** Whether any byte of the peer's body was received. */
    public boolean bodyBegan() {
        return received > 0;
    }

    StreamListener listener() {
        return listener;
    }

    void listener(StreamListener replacement) {
        listener = replacement;
    }

    boolean is(StreamFlag flag) {
        return (flags & flag.bit) != 0;
    }

    void set(StreamFlag flag) {
        flags |= flag.bit;
    }

    void clear(StreamFlag flag) {
        flags &= ~flag.bit;
    }

    int sendWindow() {
        return sendWindow;
    }

    /** Returns false if the window would exceed 2^31-1. */
    boolean moveSendWindow(int by) {
        long moved = (long) sendWindow + by;
        if (moved > Integer.MAX_VALUE) {
            return false;
        }
        sendWindow = (int) moved;
        return true;
    }

    /** DATA was written. */
    void sent(int bytes) {
        sendWindow -= bytes;
        sent += bytes;
    }

    /** Enforces the stream's timeouts; the first call only starts the timer. */
    void checkTime(long now, ConnectionTimeouts timeouts, Consumer<TimeoutRule> expired) {
        StreamTimer started = timer;
        if (started == null) {
            timer = new StreamTimer(now);
            return;
        }
        TimeoutRule rule = started.check(now, timeouts);
        if (rule != null) {
            expired.accept(rule);
            session.timedOut(this, rule);
        }
    }

    /** Charges received DATA to the window; returns false if it exceeds the window. */
    boolean received(int bytes) {
        receiveWindow -= bytes;
        return receiveWindow >= 0;
    }

    /** Counts an interim response; returns false if there are too many. */
    boolean interimResponse() {
        interim++;
        return interim <= MAX_INTERIM;
    }

    /** Sets the content-length to check the body against; -1 for none. */
    void expect(long contentLength) {
        contentLeft = contentLength;
    }

    /** Counts a part of the body; returns false if it contradicts the content-length (RFC 9113, 8.1.1). */
    boolean bodyPart(int bytes, boolean end) {
        received += bytes;
        if (contentLeft < 0) {
            return true;
        }
        contentLeft -= bytes;
        return end ? contentLeft == 0 : contentLeft >= 0;
    }

    @Nullable
    SendQueue queue() {
        return queue;
    }

    SendQueue queueOrNew() {
        SendQueue started = queue;
        if (started == null) {
            started = new SendQueue();
            queue = started;
        }
        return started;
    }

    /** Releases the queue with everything in it. */
    void dropQueue() {
        if (queue != null) {
            queue.release();
            queue = null;
        }
    }

    /** Enforces the timeouts of one stream, by periodic checks. */
    private final class StreamTimer {
        private final BodyProgress body = new BodyProgress();
        private boolean inBody;
        /** Bytes sent and received at the last progress. */
        private long transferred;

        private long progressAt;

        StreamTimer(long now) {
            progress(now);
        }

        private void progress(long now) {
            transferred = received + sent;
            progressAt = now;
        }

        /** The timeout that has expired, null if none. */
        @Nullable
        TimeoutRule check(long now, ConnectionTimeouts timeouts) {
            if (received + sent != transferred) {
                progress(now);
            }
            if (queue != null) {
                inBody = false;
                return queued(now, timeouts);
            }
            return awaited(now, timeouts);
        }

        /** A complete response must be read within the write timeout; a stream may pause for the stream idle timeout. */
        private @Nullable TimeoutRule queued(long now, ConnectionTimeouts timeouts) {
            boolean complete = is(StreamFlag.COMPLETE);
            long timeout = complete ? timeouts.write() : timeouts.streamIdle();
            if (!ConnectionTimeouts.passed(timeout, progressAt, now)) {
                return null;
            }
            return complete ? TimeoutRule.WRITE : TimeoutRule.STREAM_IDLE;
        }

        private @Nullable TimeoutRule awaited(long now, ConnectionTimeouts timeouts) {
            PeerWait awaited = is(StreamFlag.REMOTE_ENDED) ? PeerWait.NOTHING : listener.awaited();
            boolean began = awaited == PeerWait.BODY && !inBody;
            inBody = awaited == PeerWait.BODY;
            if (began) {
                body.begin(received, now);
            }
            return switch (awaited) {
                case NOTHING -> {
                    progressAt = now;
                    yield null;
                }
                case BODY -> body.check(received, now, timeouts);
                case ANYTHING ->
                    ConnectionTimeouts.passed(timeouts.streamIdle(), progressAt, now) ? TimeoutRule.STREAM_IDLE : null;
            };
        }
    }
}
