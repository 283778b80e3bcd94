package dev.isthmus.gateway.upstream.grpc;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.http2.HeaderFieldList;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.gateway.settings.HeaderAllowList;
import dev.isthmus.gateway.upstream.UpstreamSettings;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.message.Wire;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;
import org.jspecify.annotations.Nullable;

/**
 * One request and its single response. The response is kept until the status arrives, or, if it is large and the reply
 * accepts parts, forwarded as it arrives. Used on the event loop of the call.
 */
final class UnaryCall implements CallListener, Subscription {
    private final GrpcCall call;
    private final GrpcResponseReader reader;
    private final long maxBytes;
    private final StatusText texts;
    private final HeaderAllowList returned;
    private final MemoryBudget.MemoryReservation memory;
    private final Reply reply;
    /** Kept until there is a stream for it. */
    private @Nullable ByteBuf request;
    /** The response message, kept until the status arrives. */
    private @Nullable ByteBuf message;
    /** The length of a response that is forwarded in parts; 0 for any other. */
    private long length;
    /** Bytes of it that were not forwarded yet. */
    private long remaining;

    private boolean finished;

    /** @param request taken; null if it is written with {@link #parts} */
    UnaryCall(
            GrpcConnectionPool pool,
            HeaderFieldList head,
            GrpcCall.CallTimeout timeout,
            @Nullable ByteBuf request,
            GrpcResponseReader reader,
            UpstreamSettings settings,
            MemoryBudget.MemoryReservation memory,
            Reply reply) {
        this.call = new GrpcCall(pool, head, timeout, this);
        this.request = request;
        this.reader = reader;
        this.maxBytes = reader.maxBytes(settings);
        this.texts = pool.texts();
        this.returned = settings.returnedHeaders();
        this.memory = memory;
        this.reply = reply;
    }

    void start() {
        call.start();
    }

    /**
     * Receives the request in parts.
     *
     * @param length of the message
     */
    RequestSink parts(long length) {
        return new RequestParts(this, call, length);
    }

    /** Whether the call has ended. */
    boolean finished() {
        return finished;
    }

    @Override
    public void cancel() {
        if (!finished) {
            finish();
            call.cancel();
        }
    }

    @Override
    public void onReady() {
        if (!finished) {
            call.resume();
        }
    }

    private void finish() {
        finished = true;
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
    public long maxMessageBytes() {
        return maxBytes;
    }

    @Override
    public void becameWritable() {
        ByteBuf sent = request;
        if (sent == null) {
            reply.onReady();
        } else {
            request = null;
            call.send(sent, true);
        }
    }

    @Override
    public void headers(Http2Headers headers) {
        CallMetadata.forward(headers, returned, reply);
    }

    @Override
    public void message(ByteBuf part) {
        if (finished || message != null || length > 0) {
            part.release();
            call.fail(texts.failures().badResponse("sent more than one response message", null));
        } else {
            message = part;
        }
    }

    @Override
    public void gathered(long bytes) {
        // For a forwarded response, ingress counts what its client has not read; the rest is bounded by the
        // server's window.
        if (length == 0) {
            memory.response(bytes + (message == null ? 0 : message.readableBytes()));
        }
    }

    @Override
    public boolean acceptsParts() {
        return reader.passesParts()
                && message == null
                && length == 0
                && reply.acceptsParts(Wire.PROTOBUF, ReplyMessage.Part.UNKNOWN);
    }

    @Override
    public void opened(long bytes) {
        length = bytes;
        remaining = bytes;
    }

    @Override
    public boolean acceptsMessages() {
        // Only a forwarded response waits for the client.
        return remaining == 0 || reply.isReady();
    }

    @Override
    public void part(ByteBuf part) {
        remaining -= part.readableBytes();
        reply.message(new ReplyMessage.Part(part, length));
    }

    @Override
    public void ended(ServerStatus status) {
        if (finished) {
            return;
        }
        CallMetadata.forward(status.trailers(), returned, reply);
        ErrorCode code = status.code();
        if (code != null) {
            finish();
            refused(code, status.message());
            return;
        }
        ByteBuf response = message;
        message = null;
        finish();
        if (length > 0) {
            reply.complete();
        } else {
            succeeded(response);
        }
    }

    private void refused(ErrorCode code, String text) {
        ReplyMessage instead = reader.instead(code);
        if (instead == null) {
            reply.fail(texts.ofServer(code, text));
        } else {
            reply.only(instead);
        }
    }

    private void succeeded(@Nullable ByteBuf response) {
        if (response == null) {
            reply.fail(texts.failures().badResponse("sent no response message", null));
            return;
        }
        ReplyMessage read;
        try {
            read = reader.read(response);
        } catch (InvalidProtocolBufferException e) {
            response.release();
            reply.fail(texts.failures().badResponse("sent a message that violates the protocol", e));
            return;
        }
        reply.only(read);
    }

    @Override
    public void failed(OipException failure) {
        if (!finished) {
            finish();
            reply.fail(failure);
        }
    }
}
