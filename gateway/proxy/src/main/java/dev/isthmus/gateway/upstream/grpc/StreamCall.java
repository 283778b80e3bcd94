package dev.isthmus.gateway.upstream.grpc;

import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.http2.HeaderFieldList;
import dev.isthmus.gateway.settings.HeaderAllowList;
import dev.isthmus.gateway.upstream.UpstreamStream;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.message.Dialect;
import dev.isthmus.transcoder.protobuf.StreamEnvelope;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * One ModelStreamInfer call. The next answer is taken only when the client takes more, and requests beyond what the server
 * takes are kept until it does. Lives on the event loop of the call.
 */
final class StreamCall implements UpstreamStream, CallListener {
    private final GrpcCall call;
    private final StatusText texts;
    private final Dialect dialect;
    private final HeaderAllowList returned;
    private final Reply reply;
    private final Deque<ByteBuf> waiting = new ArrayDeque<>();
    private boolean endAsked;
    private boolean endSent;
    private boolean over;

    StreamCall(
            GrpcConnectionPool pool,
            HeaderFieldList head,
            GrpcCall.CallTimeout timeout,
            Dialect dialect,
            HeaderAllowList returned,
            Reply reply) {
        this.call = new GrpcCall(pool, head, timeout, this);
        this.texts = pool.texts();
        this.dialect = dialect;
        this.returned = returned;
        this.reply = reply;
    }

    void start() {
        call.start();
    }

    @Override
    public void send(ModelRef model, String id, boolean emptyFinal, InferMessage message) {
        if (over || endAsked || !(message instanceof InferMessage.ProtobufMessage protobuf)) {
            message.release();
            return;
        }
        waiting.add(protobuf.message());
        flush();
    }

    @Override
    public void end() {
        endAsked = true;
        flush();
    }

    @Override
    public boolean isReady() {
        return waiting.isEmpty();
    }

    @Override
    public long keptBytes() {
        long bytes = call.queued();
        for (ByteBuf message : waiting) {
            bytes += message.readableBytes();
        }
        return bytes;
    }

    @Override
    public void becameWritable() {
        boolean kept = !waiting.isEmpty();
        flush();
        if (kept && waiting.isEmpty() && !over) {
            reply.onReady();
        }
    }

    private void flush() {
        while (!over && !waiting.isEmpty() && call.writable()) {
            ByteBuf next = waiting.remove();
            endSent = endAsked && waiting.isEmpty();
            call.send(next, endSent);
        }
        if (!over && endAsked && !endSent && waiting.isEmpty() && call.open()) {
            endSent = true;
            call.end();
        }
    }

    @Override
    public void onReady() {
        if (!over) {
            call.resume();
        }
    }

    @Override
    public void cancel() {
        if (!over) {
            finish();
            call.cancel();
        }
    }

    private void finish() {
        over = true;
        waiting.forEach(ByteBuf::release);
        waiting.clear();
    }

    @Override
    public void headers(Http2Headers headers) {
        CallMetadata.show(headers, returned, reply);
    }

    @Override
    public boolean takesMessages() {
        return reply.isReady();
    }

    @Override
    public void message(ByteBuf message) {
        ReplyMessage answer;
        try {
            answer = answer(message);
        } catch (OipException e) {
            call.fail(texts.failures().badAnswer("sent a message that is not the protocol's", e));
            return;
        }
        reply.message(answer);
    }

    private ReplyMessage answer(ByteBuf message) {
        if (!enveloped(message)) {
            return new ReplyMessage.Inference(new InferMessage.ProtobufMessage(message));
        }
        StreamEnvelope.EnvelopeContent content = StreamEnvelope.open(message);
        ByteBuf response = content.response();
        return response == null
                ? new ReplyMessage.StreamError(
                        new OipException(code(content.error()), content.error()).confidential(), content.id())
                : new ReplyMessage.Inference(new InferMessage.ProtobufMessage(response));
    }

    private boolean enveloped(ByteBuf message) {
        try {
            return switch (dialect) {
                case TRITON -> true;
                case MLSERVER, KSERVE -> false;
                case GENERIC -> StreamEnvelope.looksEnveloped(message);
            };
        } catch (OipException malformed) {
            message.release();
            throw malformed;
        }
    }

    /** Triton's errors in the midst of a stream are texts without a status; these are the ones it is known by. */
    private static ErrorCode code(String error) {
        if (error.startsWith("Request for unknown model")) {
            return ErrorCode.NOT_FOUND;
        }
        if (error.contains("Exceeds maximum queue size") || error.contains("Request timeout expired")) {
            return ErrorCode.UNAVAILABLE;
        }
        return error.startsWith("[request id:") ? ErrorCode.INVALID_ARGUMENT : ErrorCode.UNKNOWN;
    }

    @Override
    public void ended(ServerStatus status) {
        if (over) {
            return;
        }
        finish();
        CallMetadata.show(status.trailers(), returned, reply);
        ErrorCode code = status.code();
        if (code == null) {
            reply.complete();
        } else {
            reply.fail(texts.ofServer(code, status.message()));
        }
    }

    @Override
    public void failed(OipException failure) {
        if (!over) {
            finish();
            reply.fail(failure);
        }
    }
}
