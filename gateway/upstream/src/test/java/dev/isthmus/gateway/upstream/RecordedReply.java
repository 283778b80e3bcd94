package dev.isthmus.gateway.upstream;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.channel.EventLoop;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Records the response to a call, and checks the rules: on the loop, at most one message, one end. */
public final class RecordedReply implements Reply {
    private static final int PATIENCE_SECONDS = 30;

    private final EventLoop loop;
    private final CompletableFuture<ReplyMessage> outcome = new CompletableFuture<>();
    private final CompletableFuture<Subscription> cancellation = new CompletableFuture<>();
    private final Map<String, String> headers = new ConcurrentHashMap<>();
    private @Nullable ReplyMessage message;

    RecordedReply(EventLoop loop) {
        this.loop = loop;
    }

    void cancellation(Subscription started) {
        cancellation.complete(started);
    }

    @Override
    public void headers(Map<String, String> more) {
        headers.putAll(more);
    }

    @Override
    public void message(ReplyMessage response) {
        if (!loop.inEventLoop() || message != null || outcome.isDone()) {
            response.release();
            outcome.obtrudeException(new AssertionError("a message out of place: " + response));
            return;
        }
        message = response;
    }

    @Override
    public void complete() {
        end(() -> outcome.complete(requireNonNull(message)));
    }

    @Override
    public void fail(OipException failure) {
        end(() -> outcome.completeExceptionally(failure));
    }

    private void end(Runnable how) {
        if (!loop.inEventLoop() || outcome.isDone()) {
            outcome.obtrudeException(new AssertionError("an end out of place"));
            return;
        }
        how.run();
    }

    /** The headers so far. */
    public Map<String, String> headers() {
        return headers;
    }

    /** The response, owned by the caller. */
    public ReplyMessage response() throws Exception {
        return outcome.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    }

    public OipException failure() throws Exception {
        try {
            ReplyMessage response = response();
            response.release();
            throw new AssertionError("no failure but " + response);
        } catch (ExecutionException e) {
            assertThat(e.getCause()).isInstanceOf(OipException.class);
            return (OipException) requireNonNull(e.getCause());
        }
    }

    /** The message of an inference, owned by the caller. */
    public InferMessage inference() throws Exception {
        return ((ReplyMessage.Inference) response()).message();
    }

    /** The bytes of an inference on the gRPC wire, whose buffer is released. */
    public byte[] protobuf() throws Exception {
        ByteBuf message = ((InferMessage.ProtobufMessage) inference()).message();
        try {
            return ByteBufUtil.getBytes(message);
        } finally {
            message.release();
        }
    }

    public boolean ended() {
        return outcome.isDone();
    }

    /** Cancels on the loop. */
    public void cancel() throws Exception {
        Subscription started = cancellation.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        loop.submit(started::cancel).get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    }

    /** Cancels on the loop, and releases a message that has arrived before. */
    public void discard() throws Exception {
        cancel();
        loop.submit(() -> {
                    if (message != null) {
                        message.release();
                    }
                })
                .get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    }
}
