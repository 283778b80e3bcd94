package dev.isthmus.gateway.upstream.grpc;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.grpc.MessagePrefix;
import dev.isthmus.gateway.http2.HeaderFieldList;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.gateway.upstream.TimeoutQueue.CallTimeout;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.message.ExpectedOrigin;
import dev.isthmus.transcoder.message.Wire;
import dev.isthmus.transcoder.protobuf.ProtobufReader;
import io.netty.buffer.ByteBuf;
import org.jspecify.annotations.Nullable;

/**
 * One request and its single response. The response is kept until the status arrives, or, if it is large and the reply
 * accepts parts, forwarded as it arrives. Used on the event loop of the call.
 */
final class UnaryCall extends GrpcCall implements RequestSink {
    private final GrpcResponseReader reader;
    private final long maxBytes;
    private final MemoryBudget.MemoryReservation memory;
    /** What the response to an inference has to repeat; null for any other. */
    private @Nullable ExpectedOrigin expected;
    /** Kept until there is a stream for it. */
    private @Nullable ByteBuf request;
    /** The response message, kept until the status arrives. */
    private @Nullable ByteBuf message;
    /** The length of a response that is forwarded in parts; 0 for any other. */
    private long length;
    /** Bytes of it that were not forwarded yet. */
    private long remaining;
    /** The length of a request that is sent in parts, and what is missing of it; 0 for any other. */
    private long requestLength;

    private long missing;

    /**
     * A call whose request is to be {@link #sending} or {@link #parts}.
     *
     * @param maxBytes of the response
     */
    UnaryCall(
            GrpcConnectionPool pool,
            HeaderFieldList head,
            CallTimeout timeout,
            GrpcResponseReader reader,
            long maxBytes,
            MemoryBudget.MemoryReservation memory,
            Reply reply) {
        super(pool, head, timeout, reply);
        this.reader = reader;
        this.maxBytes = maxBytes;
        this.memory = memory;
    }

    /** Sets what the response to an inference has to repeat; a large one may then be forwarded unread, in parts. */
    UnaryCall expecting(ExpectedOrigin origin) {
        expected = origin;
        return this;
    }

    /**
     * Sets the request, which is sent in one piece.
     *
     * @param message taken
     */
    UnaryCall sending(ByteBuf message) {
        request = message;
        return this;
    }

    /**
     * Receives the request in parts. The length is sent with the first one, and the end of the message only if exactly
     * that many bytes were received.
     *
     * @param bytes of the message
     */
    RequestSink parts(long bytes) {
        requestLength = bytes;
        missing = bytes;
        return this;
    }

    @Override
    public void data(ByteBuf part) {
        int bytes = part.readableBytes();
        if (finished() || bytes == 0) {
            part.release();
        } else if (bytes > missing) {
            part.release();
            lengthMismatch("more");
        } else {
            boolean first = missing == requestLength;
            missing -= bytes;
            write(first ? MessagePrefix.before(part, requestLength, pool().allocator()) : part, false);
        }
    }

    @Override
    public void end() {
        if (finished()) {
            return;
        }
        if (missing > 0) {
            lengthMismatch((requestLength - missing) + " bytes");
        } else {
            endRequest();
        }
    }

    private void lengthMismatch(String got) {
        fail(new OipException(
                ErrorCode.INTERNAL, "a message of " + requestLength + " bytes was announced, got " + got));
    }

    @Override
    public long held() {
        return finished() ? 0 : queued();
    }

    @Override
    public boolean isReady() {
        return !finished() && writable();
    }

    @Override
    void release() {
        if (request != null) {
            request.release();
            request = null;
        }
        if (message != null) {
            message.release();
            message = null;
        }
    }

    @Override
    long maxMessageBytes() {
        return maxBytes;
    }

    @Override
    void sendRequest() {
        ByteBuf sent = request;
        if (sent == null) {
            reply().onReady();
        } else {
            request = null;
            sendMessage(sent, true);
        }
    }

    @Override
    void received(ByteBuf next) {
        if (message != null || length > 0) {
            next.release();
            fail(pool().failures().badResponse("sent more than one response message", null));
        } else {
            message = next;
        }
    }

    @Override
    void gathered(long bytes) {
        // For a forwarded response, ingress counts what its client has not read; the rest is bounded by the
        // server's window.
        if (length == 0) {
            memory.response(bytes + (message == null ? 0 : message.readableBytes()));
        }
    }

    @Override
    boolean acceptsParts() {
        return expected != null
                && message == null
                && length == 0
                && reply().acceptsParts(Wire.PROTOBUF, ReplyMessage.Part.UNKNOWN);
    }

    @Override
    void opened(long bytes) {
        length = bytes;
        remaining = bytes;
    }

    @Override
    boolean acceptsMessages() {
        // Only a forwarded response waits for the client.
        return remaining == 0 || reply().isReady();
    }

    @Override
    void receivedPart(ByteBuf part) {
        if (remaining == length && failsAsForeign(part)) {
            part.release();
            return;
        }
        remaining -= part.readableBytes();
        reply().message(new ReplyMessage.Part(part, length));
    }

    @Override
    void refused(ErrorCode code, ServerStatus status) {
        ReplyMessage instead = reader.instead(code);
        if (instead == null) {
            super.refused(code, status);
        } else {
            reply().only(instead);
        }
    }

    @Override
    void succeeded() {
        ByteBuf response = message;
        if (response != null && failsAsForeign(response)) {
            return;
        }
        message = null;
        finish();
        if (length > 0) {
            reply().complete();
        } else if (response == null) {
            reply().fail(pool().failures().badResponse("sent no response message", null));
        } else {
            read(response);
        }
    }

    /** Fails if the response that begins so is that to another request; returns whether it is. */
    private boolean failsAsForeign(ByteBuf start) {
        String violation = expected == null ? null : expected.violation(ProtobufReader.origin(start));
        if (violation == null) {
            return false;
        }
        pool().outOfStep();
        fail(pool().failures().badResponse(violation, null));
        return true;
    }

    private void read(ByteBuf response) {
        ReplyMessage read;
        try {
            read = reader.read(response);
        } catch (InvalidProtocolBufferException | RuntimeException e) {
            response.release();
            reply().fail(pool().failures().badResponse("sent a message that violates the protocol", e));
            return;
        }
        reply().only(read);
    }

    /** Reads the response message of one operation. */
    @FunctionalInterface
    interface GrpcResponseReader {

        /**
         * Reads a response message.
         *
         * @param message taken, unless this throws
         */
        ReplyMessage read(ByteBuf message) throws InvalidProtocolBufferException;

        /** The response that replaces a failure reported by the server; null to fail. */
        default @Nullable ReplyMessage instead(ErrorCode serverFailure) {
            return null;
        }
    }
}
