package dev.isthmus.gateway.upstream.grpc;

import dev.isthmus.gateway.coding.ContentCoding;
import dev.isthmus.gateway.grpc.GrpcDeframer;
import dev.isthmus.gateway.grpc.GrpcNames;
import dev.isthmus.gateway.grpc.GrpcTimeout;
import dev.isthmus.gateway.grpc.MessagePrefix;
import dev.isthmus.gateway.http2.HeaderFieldList;
import dev.isthmus.gateway.http2.Http2Connection;
import dev.isthmus.gateway.http2.Http2Stream;
import dev.isthmus.gateway.http2.StreamEnd;
import dev.isthmus.gateway.http2.StreamListener;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * One call on one HTTP/2 stream: gRPC over HTTP/2, and the call's deadline. It waits in its pool until a connection is
 * available. Used on the event loop of the call.
 */
final class GrpcCall implements StreamListener {
    /** The part size delivered to a listener that was not ready, in bytes. */
    private static final int PART_BYTES = 256 * 1024;

    /** The largest stream window: what a server may send before it is read, in bytes. */
    private static final int WINDOW = 1 << 20;

    /** Bytes of a response that socket buffers and the client's window absorb unread: no reason to widen the window. */
    private static final int UNREAD = 2 << 20;

    private final GrpcConnectionPool pool;
    private final HeaderFieldList head;
    private final CallTimeout timeout;
    private final CallListener listener;
    private @Nullable ScheduledFuture<?> timer;
    private @Nullable Http2Stream stream;
    /** Created when the response headers arrive. */
    private @Nullable GrpcDeframer deframer;
    /** Received bytes not yet returned to the server's window. */
    private int unacknowledged;
    /** Bytes returned to the server's window. */
    private long consumed;
    /** Whether it holds one of the pool's permits for a large window. */
    private boolean largeWindow;
    /** How the call ends once the received messages are delivered. */
    private @Nullable Runnable ending;

    private boolean finished;

    /**
     * The timeout of a call.
     *
     * @param nanos {@link Long#MAX_VALUE} for none
     * @param inHead whether the request headers already contain it
     */
    record CallTimeout(long nanos, boolean inHead) {
        boolean endless() {
            return nanos == Long.MAX_VALUE;
        }
    }

    /** A call that has not started. */
    GrpcCall(GrpcConnectionPool pool, HeaderFieldList head, CallTimeout timeout, CallListener listener) {
        this.pool = pool;
        this.head = head;
        this.timeout = timeout;
        this.listener = listener;
    }

    /** Acquires a connection. The listener may be called before this returns, even with the call's end. */
    void start() {
        if (timeout.nanos() <= 0) {
            timedOut();
            return;
        }
        if (!timeout.endless()) {
            timer = pool.loop().schedule(this::timedOut, timeout.nanos(), TimeUnit.NANOSECONDS);
        }
        pool.acquire(this);
    }

    private void timedOut() {
        fail(pool.texts().failures().timedOut(timeout.nanos(), null));
    }

    /** Opens a stream on this connection; false if the connection accepts no more streams. */
    boolean openOn(Http2Connection connection) {
        Http2Stream opened = connection.open(timedHead(), false, this);
        if (opened == null) {
            return false;
        }
        stream = opened;
        listener.becameWritable();
        return true;
    }

    private HeaderFieldList timedHead() {
        return timer == null || timeout.inHead()
                ? head
                : head.with(GrpcNames.TIMEOUT, GrpcTimeout.value(timer.getDelay(TimeUnit.NANOSECONDS)));
    }

    /** Whether the call has a stream. */
    boolean open() {
        return stream != null;
    }

    /** Whether a message would be sent without much queueing. */
    boolean writable() {
        return stream != null && stream.isWritable();
    }

    /** Bytes queued for the server's windows or the socket. */
    long queued() {
        return stream == null ? 0 : stream.queued();
    }

    /**
     * Sends a message; requires a stream.
     *
     * @param message taken
     * @param last whether it ends the request
     */
    void send(ByteBuf message, boolean last) {
        write(MessagePrefix.before(message, pool.allocator()), last);
    }

    /**
     * Sends the first part of a message; requires a stream.
     *
     * @param part taken
     * @param length of the complete message
     */
    void begin(ByteBuf part, long length) {
        write(MessagePrefix.before(part, length, pool.allocator()), false);
    }

    /**
     * Sends the next part of the current message.
     *
     * @param part taken
     */
    void part(ByteBuf part) {
        write(part, false);
    }

    /** Ends the request. */
    void end() {
        write(Unpooled.EMPTY_BUFFER, true);
    }

    private void write(ByteBuf data, boolean last) {
        if (stream == null) {
            data.release();
            throw new IllegalStateException("the call has no stream yet");
        }
        stream.data(data, last);
    }

    /** The listener is ready again. */
    void resume() {
        if (!finished && deframer != null) {
            deliver(deframer);
        }
    }

    /** Cancels the call; the listener is not called again. */
    void cancel() {
        if (!finished) {
            finish();
        }
    }

    /** Fails the call from this side. */
    void fail(OipException failure) {
        if (!finished) {
            finish();
            listener.failed(failure);
        }
    }

    private void finish() {
        finished = true;
        stopTimer();
        if (largeWindow) {
            pool.largeWindowEnded();
        }
        if (deframer != null) {
            deframer.release();
        }
        if (stream == null) {
            pool.forget(this);
        } else {
            // No effect if both sides have ended it.
            stream.reset(Http2Error.CANCEL.code());
        }
    }

    private void stopTimer() {
        if (timer != null) {
            timer.cancel(false);
        }
    }

    @Override
    public void headers(Http2Headers headers, boolean end) {
        if (finished) {
            return;
        }
        if (end) {
            trailers(headers);
        } else if (deframer != null) {
            fail(pool.texts().notGrpc(null));
        } else if (isGrpcResponse(headers)) {
            open(headers);
        }
    }

    private boolean isGrpcResponse(Http2Headers headers) {
        CharSequence status = headers.status();
        if (status == null || !"200".contentEquals(status)) {
            fail(pool.texts().ofHttp(status == null ? "" : status));
            return false;
        }
        if (!GrpcNames.isGrpc(headers.get("content-type"))) {
            fail(pool.texts().notGrpc(null));
            return false;
        }
        return true;
    }

    private void open(Http2Headers headers) {
        CharSequence encoding = headers.get(GrpcNames.ENCODING);
        boolean identity = encoding == null || "identity".contentEquals(encoding);
        ContentCoding coding = identity ? null : ContentCoding.of(encoding.toString());
        if (!identity && coding == null) {
            fail(pool.texts().notGrpc(null));
            return;
        }
        deframer = new GrpcDeframer(pool.allocator(), listener.maxMessageBytes(), coding);
        listener.headers(headers);
    }

    private void trailers(Http2Headers trailers) {
        ServerStatus status = ServerStatus.in(trailers);
        if (status != null) {
            ending(status.code() == null, () -> ended(status));
        } else if (deframer != null || isGrpcResponse(trailers)) {
            ending(false, () -> fail(pool.texts().noStatus()));
        }
    }

    private void ended(ServerStatus status) {
        if (status.code() == null && deframer != null && deframer.partial()) {
            fail(pool.texts().notGrpc(null));
        } else if (!finished) {
            finish();
            listener.ended(status);
        }
    }

    /**
     * Delivers what was received before ending, except for part of a message that will not be completed or no longer
     * counts.
     */
    private void ending(boolean success, Runnable action) {
        if (deframer == null || (!success && deframer.missing() > 0)) {
            action.run();
        } else {
            ending = action;
            if (deframer.missing() > 0) {
                // The server has finished: from here on only the listener takes time.
                stopTimer();
            }
            deliver(deframer);
        }
    }

    @Override
    public void data(ByteBuf data, boolean end) {
        GrpcDeframer to = deframer;
        if (finished || to == null) {
            data.release();
            fail(pool.texts().notGrpc(null));
            return;
        }
        unacknowledged += data.readableBytes();
        to.add(data);
        if (end) {
            ending = () -> fail(pool.texts().noStatus());
        }
        deliver(to);
        if (!finished) {
            try {
                // Reserve the complete message: responses that wait for each other's memory would never complete.
                listener.gathered(Math.max(to.bytes(), to.announced()));
                if (stream != null && to.missing() == 0 && to.announced() > 0) {
                    // There is memory for all of it.
                    stream.widen(WINDOW);
                }
            } catch (OipException refused) {
                fail(refused);
            }
        }
    }

    private void deliver(GrpcDeframer from) {
        while (!finished) {
            boolean part;
            ByteBuf next;
            try {
                part = open(from);
                if (!listener.acceptsMessages()) {
                    return;
                }
                next = part ? from.part(PART_BYTES) : from.next();
            } catch (OipException refusal) {
                fail(pool.texts().ofMessage(refusal, listener.maxMessageBytes()));
                return;
            }
            if (next == null) {
                drained();
                return;
            }
            if (part) {
                listener.part(next);
            } else {
                listener.message(next);
            }
        }
    }

    /** Whether a message is open now: its parts follow. */
    private boolean open(GrpcDeframer from) {
        if (from.missing() == 0 && listener.acceptsParts()) {
            long length = from.open(GrpcDeframer.LARGE);
            if (length != GrpcDeframer.NOT_OPENED) {
                listener.opened(length);
                largeWindow = largeWindow || pool.largeWindow();
                if (largeWindow && stream != null) {
                    stream.widen(WINDOW);
                }
            }
        }
        return from.missing() > 0;
    }

    private void drained() {
        if (ending != null) {
            ending.run();
        } else if (stream != null) {
            consumed += unacknowledged;
            stream.widen((int) Math.min(WINDOW, (consumed - UNREAD) / 2));
            stream.consumed(unacknowledged);
            unacknowledged = 0;
        }
    }

    @Override
    public void writabilityChanged() {
        if (!finished) {
            listener.becameWritable();
        }
    }

    @Override
    public void closed(StreamEnd end) {
        if (finished || ending != null) {
            return;
        }
        if (deadlineExceeded()) {
            timedOut();
        } else {
            ending(false, () -> fail(pool.texts().of(end)));
        }
    }

    /** Whether the deadline has passed, which a server that knows the deadline may notice before us. */
    private boolean deadlineExceeded() {
        return timer != null && timer.getDelay(TimeUnit.NANOSECONDS) <= 0;
    }
}
