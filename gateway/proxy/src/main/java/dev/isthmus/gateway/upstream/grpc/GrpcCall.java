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
 * One call on one HTTP/2 stream: the rules of gRPC over HTTP/2, and the call's deadline. It waits in its pool until there is
 * a connection for it. Lives on the event loop of the call.
 */
final class GrpcCall implements StreamListener {
    /** Of what a listener that was slow to take it is given at once. */
    private static final int PART = 256 * 1024;

    /** What a server may send on a stream at most before it is taken, in bytes. */
    private static final int WINDOW = 1 << 20;

    /** Sockets and the client's window take so much of an answer that nobody reads, in bytes: no reason for a larger window. */
    private static final int UNREAD = 2 << 20;

    private final GrpcConnectionPool pool;
    private final HeaderFieldList head;
    private final CallTimeout timeout;
    private final CallListener listener;
    private @Nullable ScheduledFuture<?> timer;
    private @Nullable Http2Stream stream;
    /** There once the response's head has come. */
    private @Nullable GrpcDeframer deframer;
    /** What has come and was not given back to the server's window. */
    private int withheld;
    /** What was given back to it. */
    private long taken;
    /** Whether it is one of the pool's calls with a large window. */
    private boolean largeWindow;
    /** What to say when the messages that have come are taken. */
    private @Nullable Runnable ending;

    private boolean over;

    /**
     * What a call may last.
     *
     * @param nanos {@link Long#MAX_VALUE} for ever
     * @param inHead whether the head says so already
     */
    record CallTimeout(long nanos, boolean inHead) {
        boolean endless() {
            return nanos == Long.MAX_VALUE;
        }
    }

    /** A call that nobody knows of yet. */
    GrpcCall(GrpcConnectionPool pool, HeaderFieldList head, CallTimeout timeout, CallListener listener) {
        this.pool = pool;
        this.head = head;
        this.timeout = timeout;
        this.listener = listener;
    }

    /** Looks for a connection. The listener may hear of it, and of the call's end, before this returns. */
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

    /** Goes out on this connection; false where that takes no more. */
    boolean carriedBy(Http2Connection connection) {
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

    /** Whether there is a stream. */
    boolean open() {
        return stream != null;
    }

    /** Whether a message goes out at once, or nearly so. */
    boolean writable() {
        return stream != null && stream.isWritable();
    }

    /** Bytes that were sent and wait for the server's windows, or for the socket. */
    long queued() {
        return stream == null ? 0 : stream.queued();
    }

    /**
     * Sends a message, which needs a stream.
     *
     * @param message taken
     * @param last whether it ends the request
     */
    void send(ByteBuf message, boolean last) {
        write(MessagePrefix.before(message, pool.allocator()), last);
    }

    /**
     * Sends the first part of a message, which needs a stream.
     *
     * @param part taken
     * @param length of the whole message
     */
    void begin(ByteBuf part, long length) {
        write(MessagePrefix.before(part, length, pool.allocator()), false);
    }

    /**
     * Sends the next part of the message that was begun.
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

    /** The listener takes messages again. */
    void resume() {
        if (!over && deframer != null) {
            deliver(deframer);
        }
    }

    /** Nobody waits for it any more; the listener hears nothing more. */
    void cancel() {
        if (!over) {
            finish();
        }
    }

    /** Ends the call from this side. */
    void fail(OipException failure) {
        if (!over) {
            finish();
            listener.failed(failure);
        }
    }

    private void finish() {
        over = true;
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
            // Without effect where both sides have ended it.
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
        if (over) {
            return;
        }
        if (end) {
            trailers(headers);
        } else if (deframer != null) {
            fail(pool.texts().notGrpc(null));
        } else if (answersInGrpc(headers)) {
            open(headers);
        }
    }

    private boolean answersInGrpc(Http2Headers headers) {
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
        boolean plain = encoding == null || "identity".contentEquals(encoding);
        ContentCoding coding = plain ? null : ContentCoding.of(encoding.toString());
        if (!plain && coding == null) {
            fail(pool.texts().notGrpc(null));
            return;
        }
        deframer = new GrpcDeframer(pool.allocator(), pool.texts().maxMessageBytes(), coding);
        listener.headers(headers);
    }

    private void trailers(Http2Headers trailers) {
        ServerStatus status = ServerStatus.in(trailers);
        if (status != null) {
            ending(status.code() == null, () -> ended(status));
        } else if (deframer != null || answersInGrpc(trailers)) {
            ending(false, () -> fail(pool.texts().noStatus()));
        }
    }

    private void ended(ServerStatus status) {
        if (status.code() == null && deframer != null && deframer.partial()) {
            fail(pool.texts().notGrpc(null));
        } else if (!over) {
            finish();
            listener.ended(status);
        }
    }

    /** What has come is taken first, but for a part of a message that will not be complete, or does not count. */
    private void ending(boolean well, Runnable how) {
        if (deframer == null || (!well && deframer.missing() > 0)) {
            how.run();
        } else {
            ending = how;
            if (deframer.missing() > 0) {
                // The server is done: what is left is the listener's time.
                stopTimer();
            }
            deliver(deframer);
        }
    }

    @Override
    public void data(ByteBuf data, boolean end) {
        GrpcDeframer to = deframer;
        if (over || to == null) {
            data.release();
            fail(pool.texts().notGrpc(null));
            return;
        }
        withheld += data.readableBytes();
        to.add(data);
        if (end) {
            ending = () -> fail(pool.texts().noStatus());
        }
        deliver(to);
        if (!over) {
            try {
                // All of it at once: of answers that wait for each other's room none would ever be complete.
                listener.gathered(Math.max(to.bytes(), to.announced()));
                if (stream != null && to.missing() == 0 && to.announced() > 0) {
                    // There is room for all of it.
                    stream.widen(WINDOW);
                }
            } catch (OipException refused) {
                fail(refused);
            }
        }
    }

    private void deliver(GrpcDeframer from) {
        while (!over) {
            boolean part;
            ByteBuf next;
            try {
                part = open(from);
                if (!listener.takesMessages()) {
                    return;
                }
                next = part ? from.part(PART) : from.next();
            } catch (OipException refusal) {
                fail(pool.texts().ofMessage(refusal));
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

    /** Whether a message is open now: its parts come next. */
    private boolean open(GrpcDeframer from) {
        if (from.missing() == 0 && listener.takesParts()) {
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
            taken += withheld;
            stream.widen((int) Math.min(WINDOW, (taken - UNREAD) / 2));
            stream.consumed(withheld);
            withheld = 0;
        }
    }

    @Override
    public void writabilityChanged() {
        if (!over) {
            listener.becameWritable();
        }
    }

    @Override
    public void closed(StreamEnd end) {
        if (over || ending != null) {
            return;
        }
        if (late()) {
            timedOut();
        } else {
            ending(false, () -> fail(pool.texts().of(end)));
        }
    }

    /** Whether the time is up, which a server that was told of it may have seen before us. */
    private boolean late() {
        return timer != null && timer.getDelay(TimeUnit.NANOSECONDS) <= 0;
    }
}
