package dev.isthmus.gateway.upstream.grpc;

import dev.isthmus.gateway.call.Answer;
import dev.isthmus.gateway.call.HeaderNames;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.upstream.InferStream;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.Dialect;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.protobuf.StreamEnvelope;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.Status;
import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * One ModelStreamInfer call. The next answer is asked for only when the client takes more, and requests beyond what the
 * server takes are kept until it does. Lives on the event loop of the call.
 */
final class StreamCall extends LoopListener implements InferStream {
    private final ClientCall<RequestStream, ByteBuf> call;
    private final StreamWitness witness;
    private final StatusText texts;
    private final Dialect dialect;
    private final HeaderNames returned;
    private final long timeoutNanos;
    private final Reply reply;
    private final Deque<RequestStream> waiting = new ArrayDeque<>();
    /** The first request goes without asking: before the stream exists it is not ready. */
    private boolean sentAny;

    private boolean endAsked;
    private boolean endSent;
    private boolean paused;
    private boolean over;

    StreamCall(
            EventLoop loop,
            ClientCall<RequestStream, ByteBuf> call,
            StreamWitness witness,
            StatusText texts,
            Dialect dialect,
            HeaderNames returned,
            long timeoutNanos,
            Reply reply) {
        super(loop);
        this.call = call;
        this.witness = witness;
        this.texts = texts;
        this.dialect = dialect;
        this.returned = returned;
        this.timeoutNanos = timeoutNanos;
        this.reply = reply;
    }

    void start(Metadata headers) {
        call.start(this, headers);
        call.request(1);
    }

    @Override
    public void send(ModelRef model, String id, boolean emptyFinal, InferMessage message) {
        if (over || endAsked || !(message instanceof InferMessage.Protobuf protobuf)) {
            message.release();
            return;
        }
        waiting.add(new RequestStream(protobuf.message()));
        flush();
    }

    @Override
    public void end() {
        endAsked = true;
        flush();
    }

    @Override
    public boolean writable() {
        return waiting.isEmpty();
    }

    @Override
    void becameWritable() {
        boolean kept = !waiting.isEmpty();
        flush();
        if (kept && waiting.isEmpty() && !over) {
            reply.readMore();
        }
    }

    private void flush() {
        while (!over && !waiting.isEmpty() && (!sentAny || call.isReady())) {
            sentAny = true;
            call.sendMessage(waiting.remove());
        }
        if (!over && endAsked && !endSent && waiting.isEmpty()) {
            endSent = true;
            call.halfClose();
        }
    }

    @Override
    public void resume() {
        if (paused && !over) {
            paused = false;
            call.request(1);
        }
    }

    @Override
    public void cancel() {
        if (!over) {
            finish();
            call.cancel("the client has gone", null);
        }
    }

    private void finish() {
        over = true;
        waiting.forEach(RequestStream::close);
        waiting.clear();
    }

    @Override
    void gotHeaders(Metadata headers) {
        if (!over) {
            reply.headers(CallMetadata.returned(headers, returned));
        }
    }

    @Override
    void gotMessage(ByteBuf message) {
        if (over) {
            message.release();
            return;
        }
        Answer answer;
        try {
            answer = answer(message);
        } catch (OipException e) {
            finish();
            call.cancel("malformed answer", e);
            reply.fail(texts.failures().badAnswer("sent a message that is not the protocol's", e));
            return;
        }
        reply.message(answer);
        if (over) {
            return;
        }
        if (reply.writable()) {
            call.request(1);
        } else {
            paused = true;
        }
    }

    private Answer answer(ByteBuf message) {
        if (!enveloped(message)) {
            return new Answer.Inference(new InferMessage.Protobuf(message));
        }
        StreamEnvelope.Content content = StreamEnvelope.open(message);
        ByteBuf response = content.response();
        return response == null
                ? new Answer.StreamError(new OipException(code(content.error()), content.error()), content.id())
                : new Answer.Inference(new InferMessage.Protobuf(response));
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
    void closed(Status status, Metadata trailers) {
        if (over) {
            return;
        }
        finish();
        reply.headers(CallMetadata.returned(trailers, returned));
        if (status.isOk()) {
            reply.complete();
        } else if (witness.answered()) {
            reply.fail(texts.ofServer(status));
        } else {
            reply.fail(texts.ofOurs(status, witness.connected(), timeoutNanos));
        }
    }
}
