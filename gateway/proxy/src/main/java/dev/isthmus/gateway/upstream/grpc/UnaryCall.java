package dev.isthmus.gateway.upstream.grpc;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.http2.HeaderFieldList;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.gateway.settings.HeaderAllowList;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.message.Wire;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;
import org.jspecify.annotations.Nullable;

/**
 * One request and its one answer, which is kept until the status tells whether it counts, or, where it is large and the reply
 * takes that, passed on as it comes. Lives on the event loop of the call.
 */
final class UnaryCall implements CallListener, Subscription {
    private final GrpcCall call;
    private final GrpcResponseReader reader;
    private final StatusText texts;
    private final HeaderAllowList returned;
    private final MemoryBudget.MemoryReservation memory;
    private final Reply reply;
    /** Until there is a stream for it. */
    private @Nullable ByteBuf request;
    /** What has come, until the status tells whether it counts. */
    private @Nullable ByteBuf message;
    /** Of an answer that is passed on as it comes; 0 for any other. */
    private long length;
    /** What was not passed on of it. */
    private long left;

    private boolean over;

    /** @param request taken; null where it is given in {@link #parts} */
    UnaryCall(
            GrpcConnectionPool pool,
            HeaderFieldList head,
            GrpcCall.CallTimeout timeout,
            @Nullable ByteBuf request,
            GrpcResponseReader reader,
            HeaderAllowList returned,
            MemoryBudget.MemoryReservation memory,
            Reply reply) {
        this.call = new GrpcCall(pool, head, timeout, this);
        this.request = request;
        this.reader = reader;
        this.texts = pool.texts();
        this.returned = returned;
        this.memory = memory;
        this.reply = reply;
    }

    /** Sends the request. */
    void start() {
        call.start();
    }

    /**
     * What its request is given to in parts.
     *
     * @param length of the message
     */
    RequestSink parts(long length) {
        return new RequestParts(this, call, length);
    }

    /** Whether it has ended. */
    boolean over() {
        return over;
    }

    @Override
    public void cancel() {
        if (!over) {
            finish();
            call.cancel();
        }
    }

    @Override
    public void onReady() {
        if (!over) {
            call.resume();
        }
    }

    private void finish() {
        over = true;
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
        CallMetadata.show(headers, returned, reply);
    }

    @Override
    public void message(ByteBuf part) {
        if (over || message != null || length > 0) {
            part.release();
            call.fail(texts.failures().badAnswer("answered with more than one message", null));
        } else {
            message = part;
        }
    }

    @Override
    public void gathered(long bytes) {
        // Of what is passed on ingress counts what its client does not take; the rest is bounded by the server's
        // window.
        if (length == 0) {
            memory.response(bytes + (message == null ? 0 : message.readableBytes()));
        }
    }

    @Override
    public boolean takesParts() {
        return reader.passesParts()
                && message == null
                && length == 0
                && reply.takesParts(Wire.PROTOBUF, ReplyMessage.Part.UNKNOWN);
    }

    @Override
    public void opened(long bytes) {
        length = bytes;
        left = bytes;
    }

    @Override
    public boolean takesMessages() {
        // What is passed on waits for the client, all else does not.
        return left == 0 || reply.isReady();
    }

    @Override
    public void part(ByteBuf part) {
        left -= part.readableBytes();
        reply.message(new ReplyMessage.Part(part, length));
    }

    @Override
    public void ended(ServerStatus status) {
        if (over) {
            return;
        }
        CallMetadata.show(status.trailers(), returned, reply);
        ErrorCode code = status.code();
        if (code != null) {
            finish();
            refused(code, status.message());
            return;
        }
        ByteBuf answer = message;
        message = null;
        finish();
        if (length > 0) {
            reply.complete();
        } else {
            succeeded(answer);
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

    private void succeeded(@Nullable ByteBuf answer) {
        if (answer == null) {
            reply.fail(texts.failures().badAnswer("answered without a message", null));
            return;
        }
        ReplyMessage read;
        try {
            read = reader.read(answer);
        } catch (InvalidProtocolBufferException e) {
            answer.release();
            reply.fail(texts.failures().badAnswer("sent a message that is not the protocol's", e));
            return;
        }
        reply.only(read);
    }

    @Override
    public void failed(OipException failure) {
        if (!over) {
            finish();
            reply.fail(failure);
        }
    }
}
