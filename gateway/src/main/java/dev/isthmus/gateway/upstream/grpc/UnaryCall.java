package dev.isthmus.gateway.upstream.grpc;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.isthmus.gateway.call.Answer;
import dev.isthmus.gateway.call.Cancellation;
import dev.isthmus.gateway.call.HeaderNames;
import dev.isthmus.gateway.call.Reply;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.Status;
import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import org.jspecify.annotations.Nullable;

/** One request and its one answer. Lives on the event loop of the call. */
final class UnaryCall extends LoopListener implements Cancellation {
    private final ClientCall<RequestStream, ByteBuf> call;
    private final RequestStream request;
    private final StreamWitness witness;
    private final AnswerReader reader;
    private final StatusText texts;
    private final HeaderNames returned;
    private final long timeoutNanos;
    private final Reply reply;
    private final Received received = new Received();

    UnaryCall(
            EventLoop loop,
            ClientCall<RequestStream, ByteBuf> call,
            RequestStream request,
            StreamWitness witness,
            AnswerReader reader,
            StatusText texts,
            HeaderNames returned,
            long timeoutNanos,
            Reply reply) {
        super(loop);
        this.call = call;
        this.request = request;
        this.witness = witness;
        this.reader = reader;
        this.texts = texts;
        this.returned = returned;
        this.timeoutNanos = timeoutNanos;
        this.reply = reply;
    }

    /** Sends the request. */
    void start(Metadata headers) {
        call.start(this, headers);
        // One more than the one that is expected, so that a second message is seen.
        call.request(2);
        call.sendMessage(request);
        call.halfClose();
    }

    /** What has come, until the status tells whether it counts. */
    private static final class Received {
        private @Nullable ByteBuf message;
        private boolean several;
        private boolean ended;

        void add(ByteBuf part) {
            if (ended || message != null) {
                several = true;
                part.release();
            } else {
                message = part;
            }
        }

        @Nullable
        ByteBuf end() {
            ended = true;
            ByteBuf taken = message;
            message = null;
            return taken;
        }
    }

    @Override
    public void cancel() {
        if (received.ended) {
            return;
        }
        releaseAll();
        call.cancel("the client has gone", null);
    }

    private void releaseAll() {
        request.close();
        ByteBuf message = received.end();
        if (message != null) {
            message.release();
        }
    }

    @Override
    void gotHeaders(Metadata headers) {
        if (!received.ended) {
            reply.headers(CallMetadata.returned(headers, returned));
        }
    }

    @Override
    void gotMessage(ByteBuf message) {
        received.add(message);
    }

    @Override
    void closed(Status status, Metadata trailers) {
        if (!received.ended) {
            reply.headers(CallMetadata.returned(trailers, returned));
        }
        ended(status);
    }

    private void ended(Status status) {
        if (received.ended) {
            return;
        }
        if (status.isOk()) {
            request.close();
            succeeded(received.end());
        } else {
            releaseAll();
            failed(status);
        }
    }

    private void succeeded(@Nullable ByteBuf message) {
        if (message == null) {
            reply.fail(texts.failures().badAnswer("answered without a message", null));
            return;
        }
        if (received.several) {
            message.release();
            reply.fail(texts.failures().badAnswer("answered with more than one message", null));
            return;
        }
        Answer answer;
        try {
            answer = reader.read(message);
        } catch (InvalidProtocolBufferException e) {
            message.release();
            reply.fail(texts.failures().badAnswer("sent a message that is not the protocol's", e));
            return;
        }
        reply.only(answer);
    }

    private void failed(Status status) {
        if (!witness.answered()) {
            reply.fail(texts.ofOurs(status, witness.connected(), timeoutNanos));
            return;
        }
        var failure = texts.ofServer(status);
        Answer instead = reader.instead(failure.code());
        if (instead == null) {
            reply.fail(failure);
        } else {
            reply.only(instead);
        }
    }
}
