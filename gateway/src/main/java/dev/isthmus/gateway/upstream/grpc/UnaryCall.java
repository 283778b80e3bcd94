package dev.isthmus.gateway.upstream.grpc;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.isthmus.gateway.call.Answer;
import dev.isthmus.gateway.call.Cancellation;
import dev.isthmus.gateway.call.Reply;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.Status;
import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;

/**
 * One request and its one answer. Lives on the event loop of the call. gRPC calls back on that loop too, but for the first
 * calls of a channel, which may come from the thread that looked up the host name: those hand over.
 */
final class UnaryCall extends ClientCall.Listener<ByteBuf> implements Cancellation {
    private final EventLoop loop;
    private final ClientCall<RequestStream, ByteBuf> call;
    private final RequestStream request;
    private final StreamWitness witness;
    private final AnswerReader reader;
    private final StatusText texts;
    private final long timeoutNanos;
    private final Reply reply;
    private final Received received = new Received();
    private volatile boolean handedOver;

    UnaryCall(
            EventLoop loop,
            ClientCall<RequestStream, ByteBuf> call,
            RequestStream request,
            StreamWitness witness,
            AnswerReader reader,
            StatusText texts,
            long timeoutNanos,
            Reply reply) {
        this.loop = loop;
        this.call = call;
        this.request = request;
        this.witness = witness;
        this.reader = reader;
        this.texts = texts;
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
    public void onMessage(ByteBuf message) {
        if (onLoop()) {
            received.add(message);
        } else {
            handOver(() -> received.add(message));
        }
    }

    @Override
    public void onClose(Status status, Metadata trailers) {
        if (onLoop()) {
            ended(status);
        } else {
            handOver(() -> ended(status));
        }
    }

    private boolean onLoop() {
        return !handedOver && loop.inEventLoop();
    }

    private void handOver(Runnable callback) {
        handedOver = true;
        try {
            loop.execute(callback);
        } catch (RejectedExecutionException e) {
            // The loop has ended, so nothing runs beside this thread.
            callback.run();
        }
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
