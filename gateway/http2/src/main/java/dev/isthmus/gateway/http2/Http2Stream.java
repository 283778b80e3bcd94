package dev.isthmus.gateway.http2;

import dev.isthmus.gateway.net.ConnectionTimeouts;
import dev.isthmus.gateway.net.TimeoutRule;
import io.netty.buffer.ByteBuf;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One request and its response. All methods are for the event loop of the connection; once the stream has ended they
 * are without effect (buffers are released).
 */
public final class Http2Stream {
    private static final int MOST_INTERIM = 32;

    private final Http2Session session;
    private final int id;
    private StreamListener listener = NoopStreamListener.INSTANCE;
    private @Nullable SendQueue queue;
    private int sendWindow;
    private int receiveWindow;
    /** What the peer may send before {@link #consumed}. */
    private int window;

    /** What was consumed and is not yet given back to the peer. */
    private int due;

    /** What is missing of the content-length; -1 where none was given. */
    private long contentLeft = -1;

    /** Bytes of bodies, of both sides. */
    private long received;

    private long sent;

    /** Made when the stream has been open for a while. */
    private @Nullable StreamTimer timer;

    private int marks;
    private int interim;

    /** A fact about a stream. */
    enum StreamFlag {
        /** All that is to be sent has been given to us. */
        COMPLETE(1),
        /** END_STREAM has been written. */
        LOCAL_ENDED(2),
        /** END_STREAM has been received. */
        REMOTE_ENDED(4),
        /** The peer's head has been received. */
        HEAD_SEEN(8),
        /** It waits in the ring of those that can send. */
        IN_RING(16),
        /** Its listener wants to hear that it is writable. */
        AWAITING(32),
        CLOSED(64),
        /** DATA has been sent. */
        ANSWERED(128),
        /** The request's head was too large to be read in full. */
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

    public Http2Connection connection() {
        return session.connection();
    }

    public int id() {
        return id;
    }

    /**
     * Sends header fields: of a response the head, then, with {@code end}, trailers. They go out after all data given
     * before.
     *
     * @param end whether nothing more is sent. A server that ends a response before the request has ended makes the
     *     client stop it (RST_STREAM with NO_ERROR; RFC 9113, 8.1)
     */
    public void headers(HeaderFieldList fields, boolean end) {
        if (!is(StreamFlag.CLOSED) && !is(StreamFlag.COMPLETE)) {
            session.sender().headers(this, fields, end);
        }
    }

    /**
     * Sends a part of the body. What the peer's windows or the socket do not take at once is queued.
     *
     * @param data taken; of any size and any number of components. A {@code CompositeByteBuf} goes out in slices of its
     *     components; a slice of one with more than 512 components is copied
     */
    public void data(ByteBuf data, boolean end) {
        if (is(StreamFlag.CLOSED) || is(StreamFlag.COMPLETE)) {
            data.release();
        } else {
            session.sender().data(this, data, end);
        }
    }

    /** Whether little is queued and the socket takes more. If not, the listener hears when that changes. */
    public boolean isWritable() {
        return session.sender().writable(this);
    }

    /** Bytes of the body that were given to it and wait for the peer's windows, or for the socket. */
    public long queued() {
        return queue == null ? 0 : queue.bytes();
    }

    /** Lets the peer send as many bytes more as were received. */
    public void consumed(int bytes) {
        if (bytes > 0 && !is(StreamFlag.CLOSED) && !is(StreamFlag.REMOTE_ENDED)) {
            due += bytes;
            if (due >= (window + 1) / 2) {
                receiveWindow += due;
                session.writer().windowUpdate(id, due);
                session.flusher().touch();
                due = 0;
            }
        }
    }

    /** Lets the peer send so much before {@link #consumed} from now on, where it is more than before. */
    public void widen(int bytes) {
        if (bytes > window) {
            int more = bytes - window;
            window = bytes;
            consumed(more);
        }
    }

    /**
     * Whether the request's head is larger than is taken. The listener is given what was read of it before the limit, and
     * refuses the request.
     */
    public boolean headTooLarge() {
        return is(StreamFlag.HEAD_TOO_LARGE);
    }

    /**
     * Ends the stream at once in both directions (RST_STREAM); what is queued is dropped, the listener hears no more. Without
     * effect where both sides have ended it, as in the callback of the last frame: servers count resets.
     */
    public void reset(long errorCode) {
        boolean over = is(StreamFlag.LOCAL_ENDED) && is(StreamFlag.REMOTE_ENDED);
        if (!is(StreamFlag.CLOSED) && !over) {
            session.reset(this, errorCode);
        }
    }

    /** Whether anything of the peer's body has come. */
    public boolean bodyBegan() {
        return received > 0;
    }

    StreamListener listener() {
        return listener;
    }

    void listener(StreamListener heard) {
        listener = heard;
    }

    boolean is(StreamFlag mark) {
        return (marks & mark.bit) != 0;
    }

    void set(StreamFlag mark) {
        marks |= mark.bit;
    }

    void clear(StreamFlag mark) {
        marks &= ~mark.bit;
    }

    int sendWindow() {
        return sendWindow;
    }

    /** Whether it moved: false where it would be more than a window can be. */
    boolean moveSendWindow(int by) {
        long moved = (long) sendWindow + by;
        if (moved > Integer.MAX_VALUE) {
            return false;
        }
        sendWindow = (int) moved;
        return true;
    }

    /** DATA has been written. */
    void sent(int bytes) {
        sendWindow -= bytes;
        sent += bytes;
    }

    /** Bytes of the peer's body that have come. */
    long received() {
        return received;
    }

    /** Bytes of our body that have gone out. */
    long sent() {
        return sent;
    }

    /** Looks at how long the peer takes. */
    void checkTime(long now, ConnectionTimeouts timeouts, Consumer<TimeoutRule> expired) {
        StreamTimer started = timer;
        if (started == null) {
            timer = new StreamTimer(this, now);
            return;
        }
        TimeoutRule rule = started.check(now, timeouts);
        if (rule != null) {
            expired.accept(rule);
            session.timedOut(this, rule);
        }
    }

    /** Counts what the peer sends: false where it is more than it may. */
    boolean received(int bytes) {
        receiveWindow -= bytes;
        return receiveWindow >= 0;
    }

    /** Counts an interim response: false where there are more than are of use to anybody. */
    boolean interimResponse() {
        interim++;
        return interim <= MOST_INTERIM;
    }

    /** What the message's head says of its body. */
    void expect(long contentLength) {
        contentLeft = contentLength;
    }

    /** Counts the body: false where it is not what its content-length says (RFC 9113, 8.1.1). */
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

    SendQueue startedQueue() {
        SendQueue started = queue;
        if (started == null) {
            started = new SendQueue();
            queue = started;
        }
        return started;
    }

    /** Nothing more is sent from the queue. */
    void dropQueue() {
        if (queue != null) {
            queue.release();
            queue = null;
        }
    }
}
