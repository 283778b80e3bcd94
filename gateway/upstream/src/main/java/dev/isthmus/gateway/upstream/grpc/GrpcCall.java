package dev.isthmus.gateway.upstream.grpc;

import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.coding.ContentCoding;
import dev.isthmus.gateway.grpc.GrpcDeframer;
import dev.isthmus.gateway.grpc.GrpcNames;
import dev.isthmus.gateway.grpc.GrpcTimeout;
import dev.isthmus.gateway.grpc.MessagePrefix;
import dev.isthmus.gateway.grpc.StatusMessage;
import dev.isthmus.gateway.http2.HeaderFieldList;
import dev.isthmus.gateway.http2.Http2Connection;
import dev.isthmus.gateway.http2.Http2Stream;
import dev.isthmus.gateway.http2.StreamEnd;
import dev.isthmus.gateway.http2.StreamListener;
import dev.isthmus.gateway.upstream.ServerDelay;
import dev.isthmus.gateway.upstream.TimeoutQueue.CallTimeout;
import dev.isthmus.gateway.upstream.UpstreamFailures;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * One call on one HTTP/2 stream: gRPC over HTTP/2, and the call's deadline. It waits in its pool until a connection is
 * available. What is sent, and what the messages mean, is a subclass's. Used on the event loop of the call.
 */
abstract class GrpcCall implements StreamListener, Subscription {
    /** The part size delivered to a reply that was not ready, in bytes. */
    private static final int PART_BYTES = 256 * 1024;

    /** The largest stream window: what a server may send before it is read, in bytes. */
    private static final int WINDOW = 1 << 20;

    /** Bytes of a response that socket buffers and the client's window absorb unread: no reason to widen the window. */
    private static final int UNREAD = 2 << 20;

    private final GrpcConnectionPool pool;
    private final HeaderFieldList head;
    private final CallTimeout timeout;
    private final Reply reply;
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

    GrpcCall(GrpcConnectionPool pool, HeaderFieldList head, CallTimeout timeout, Reply reply) {
        this.pool = pool;
        this.head = head;
        this.timeout = timeout;
        this.reply = reply;
    }

    /** Sends what is to be sent, as far as possible: the stream was opened, or became writable again. */
    abstract void sendRequest();

    /** The largest message that is received. */
    abstract long maxMessageBytes();

    /** Whether it is ready for a message or a part; if not, {@link #onReady()} continues delivery. */
    abstract boolean acceptsMessages();

    /** @param message the next one, taken */
    abstract void received(ByteBuf message);

    /** Whether the next message, which is large, may be received in parts, after it was {@link #opened}. */
    boolean acceptsParts() {
        return false;
    }

    /** A message of this many bytes follows in parts. */
    void opened(long length) {}

    /** @param part the next one of the current message, taken */
    void receivedPart(ByteBuf part) {
        part.release();
    }

    /**
     * This many bytes of messages are buffered: a message is incomplete, or the call does not accept it yet.
     *
     * @throws OipException if there is no memory for them
     */
    void gathered(long bytes) {}

    /** The server has ended the call with success; has to {@link #finish()}. */
    abstract void succeeded();

    /** The server has failed the call, which is finished. */
    void refused(ErrorCode code, ServerStatus status) {
        reply.fail(status.delayed(pool.texts().ofServer(code, status.message())));
    }

    /** Releases what was not sent or delivered: the call is finished. */
    abstract void release();

    final GrpcConnectionPool pool() {
        return pool;
    }

    final Reply reply() {
        return reply;
    }

    final boolean finished() {
        return finished;
    }

    /** Acquires a connection. The reply may be called before this returns, even with the call's end. */
    void start() {
        if (timeout.start(pool.timeouts(), this::timedOut)) {
            pool.acquire(this);
        } else {
            timedOut();
        }
    }

    private void timedOut() {
        fail(pool.failures().timedOut(timeout.nanos(), null));
    }

    /** Opens a stream on this connection; false if the connection accepts no more streams. */
    boolean openOn(Http2Connection connection) {
        HeaderFieldList sent =
                timeout.unannounced() ? head.with(GrpcNames.TIMEOUT, GrpcTimeout.value(timeout.left())) : head;
        stream = connection.open(sent, false, this);
        if (stream != null) {
            writabilityChanged();
        }
        return stream != null;
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
    void sendMessage(ByteBuf message, boolean last) {
        write(MessagePrefix.before(message, pool.allocator()), last);
    }

    void endRequest() {
        write(Unpooled.EMPTY_BUFFER, true);
    }

    /**
     * Sends bytes of a message.
     *
     * @param data taken
     */
    void write(ByteBuf data, boolean last) {
        Objects.requireNonNull(stream).data(data, last);
    }

    /** The reply is ready again. */
    @Override
    public void onReady() {
        if (!finished && deframer != null) {
            deliver(deframer);
        }
    }

    @Override
    public void cancel() {
        if (!finished) {
            finish();
        }
    }

    /** Fails the call from this side. */
    void fail(OipException failure) {
        if (!finished) {
            finish();
            reply.fail(failure);
        }
    }

    /** Ends the call, its timeout and its stream. */
    final void finish() {
        finished = true;
        release();
        timeout.stop();
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

    @Override
    public void headers(Http2Headers headers, boolean end) {
        if (end) {
            trailers(headers);
        } else {
            open(headers);
        }
    }

    private void open(Http2Headers headers) {
        CharSequence encoding = headers.get(GrpcNames.ENCODING);
        boolean identity = encoding == null || "identity".contentEquals(encoding);
        ContentCoding coding = identity ? null : ContentCoding.of(encoding.toString());
        OipException other = pool.texts().ofHead(headers);
        if (other != null || (!identity && coding == null)) {
            fail(other == null ? pool.texts().notGrpc(null) : other);
            return;
        }
        deframer = new GrpcDeframer(pool.allocator(), maxMessageBytes(), coding);
        OipException tooMany = pool.pass(headers, reply);
        if (tooMany != null) {
            fail(tooMany);
        }
    }

    private void trailers(Http2Headers trailers) {
        ServerStatus status = ServerStatus.in(trailers);
        if (status != null) {
            ending(status.code() == null, () -> ended(status));
        } else {
            OipException other = deframer == null ? pool.texts().ofHead(trailers) : null;
            ending(false, () -> fail(other == null ? pool.texts().noStatus() : other));
        }
    }

    private void ended(ServerStatus status) {
        if (status.code() == null && deframer != null && deframer.partial()) {
            fail(pool.texts().notGrpc(null));
        } else if (!finished) {
            OipException tooMany = pool.pass(status.trailers(), reply);
            ErrorCode code = status.code();
            if (code == null && tooMany != null) {
                fail(tooMany);
            } else if (code == null) {
                succeeded();
            } else {
                finish();
                refused(code, status);
            }
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
                // The server has finished: from here on only the reply takes time.
                timeout.stop();
            }
            deliver(deframer);
        }
    }

    @Override
    public void data(ByteBuf data, boolean end) {
        GrpcDeframer to = Objects.requireNonNull(deframer);
        unacknowledged += data.readableBytes();
        try {
            to.add(data);
            if (end) {
                ending = () -> fail(pool.texts().noStatus());
            }
            deliver(to);
            if (!finished) {
                // Reserve the complete message: responses that wait for each other's memory would never complete.
                gathered(Math.max(to.bytes(), to.announced()));
                if (stream != null && to.missing() == 0 && to.announced() > 0) {
                    stream.widen(WINDOW);
                }
            }
        } catch (OipException refused) {
            fail(refused);
        } catch (OutOfMemoryError exhausted) {
            fail(UpstreamFailures.noMemory());
        }
    }

    private void deliver(GrpcDeframer from) {
        while (!finished) {
            boolean part;
            ByteBuf next;
            try {
                part = open(from);
                if (!acceptsMessages()) {
                    return;
                }
                next = part ? from.part(PART_BYTES) : from.next();
            } catch (OipException refusal) {
                fail(pool.texts().ofMessage(refusal, maxMessageBytes()));
                return;
            }
            if (next == null) {
                drained();
                return;
            }
            if (part) {
                receivedPart(next);
            } else {
                received(next);
            }
        }
    }

    /** Whether a message is open now: its parts follow. */
    private boolean open(GrpcDeframer from) {
        if (from.missing() == 0 && acceptsParts()) {
            long length = from.open(GrpcDeframer.LARGE);
            if (length != GrpcDeframer.NOT_OPENED) {
                opened(length);
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
        try {
            if (!finished) {
                sendRequest();
            }
        } catch (OutOfMemoryError exhausted) {
            fail(OipException.outOfMemory(exhausted));
        }
    }

    @Override
    public void closed(StreamEnd end) {
        if (finished || ending != null) {
            return;
        }
        if (timeout.expired()) {
            timedOut();
        } else {
            ending(false, () -> fail(pool.texts().of(end)));
        }
    }

    /**
     * The status with which a server ended a call.
     *
     * @param code of the failure; null for success
     * @param message empty if the server sent none
     * @param trailers that contain it
     */
    record ServerStatus(@Nullable ErrorCode code, String message, Http2Headers trailers) {
        private static final int MAX_DIGITS = 3;
        /** Of a message that is kept: many clients accept 8 KiB of trailers and close the connection at more. */
        private static final int MAX_MESSAGE = 4096;

        /** The status in these trailers; null if there is none. */
        static @Nullable ServerStatus in(Http2Headers trailers) {
            CharSequence status = trailers.get(GrpcNames.STATUS);
            if (status == null) {
                return null;
            }
            if (status.length() == 1 && status.charAt(0) == '0') {
                return new ServerStatus(null, "", trailers);
            }
            CharSequence message = trailers.get(GrpcNames.MESSAGE);
            ErrorCode code = ErrorCode.ofGrpcStatus(number(status));
            return new ServerStatus(code, message == null ? "" : text(message), trailers);
        }

        private static String text(CharSequence message) {
            if (message.length() <= MAX_MESSAGE) {
                return StatusMessage.decoded(message);
            }
            // Not within an escape of three characters.
            int escape = AsciiString.of(message).lastIndexOf("%", MAX_MESSAGE - 1);
            int end = escape > MAX_MESSAGE - 3 ? escape : MAX_MESSAGE;
            return StatusMessage.decoded(message.subSequence(0, end)) + "...";
        }

        /** A failure with the time that the trailers ask for. */
        OipException delayed(OipException failure) {
            return ServerDelay.of(failure, trailers.get(ServerDelay.RETRY_AFTER), trailers.get(ServerDelay.PUSHBACK));
        }

        /** Negative if it is not a number. */
        private static int number(CharSequence status) {
            boolean digits = !status.isEmpty()
                    && status.length() <= MAX_DIGITS
                    && status.chars().allMatch(c -> c >= '0' && c <= '9');
            return digits ? Integer.parseInt(status, 0, status.length(), 10) : -1;
        }
    }
}
