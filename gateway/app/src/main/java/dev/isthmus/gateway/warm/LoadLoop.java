package dev.isthmus.gateway.warm;

import dev.isthmus.gateway.call.BodyForm;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.replay.ReplayClient;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.rest.RestBody;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoop;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** Sends the same request repeatedly, a few at a time. Owns the request. */
final class LoadLoop {
    private static final int CONCURRENCY = 4;

    private final Upstream gateway;
    private final ModelRef model;
    private final InferMessage request;
    private final int times;
    private final ByteBufAllocator allocator;

    LoadLoop(Upstream gateway, ModelRef model, InferMessage request, int times, ByteBufAllocator allocator) {
        this.gateway = gateway;
        this.model = model;
        this.request = request;
        this.times = times;
        this.allocator = allocator;
    }

    void release() {
        request.release();
    }

    /**
     * Sends the requests and waits for the responses, until the timeout.
     *
     * @param nanos the timeout; 0 or less to skip the run
     * @return the number of requests that were sent
     */
    int run(EventLoop loop, long nanos) throws Exception {
        long end = System.nanoTime() + nanos;
        int sent = 0;
        while (sent < times && System.nanoTime() < end) {
            List<CompletableFuture<Boolean>> replies = new ArrayList<>();
            for (int i = 0; i < CONCURRENCY && sent < times; i++, sent++) {
                replies.add(send(loop));
            }
            for (CompletableFuture<Boolean> reply : replies) {
                long left = Math.max(0, end - System.nanoTime());
                reply.completeOnTimeout(false, left, TimeUnit.NANOSECONDS).get();
            }
        }
        return sent;
    }

    /** Sends one; completes when its response has arrived, which is released then, however late. */
    private CompletableFuture<Boolean> send(EventLoop loop) {
        CompletableFuture<ReplyMessage> reply = new CompletableFuture<>();
        Call call = new Call(
                new Operation.Infer(model, new BodyForm.RestForm(RestBody.ALL_JSON, -1, null), false),
                Call.NO_DEADLINE,
                Map.of(),
                loop,
                allocator);
        loop.execute(() -> gateway.send(
                call,
                new UpstreamRequest.InferenceRequest(model, request.retained()),
                new ReplayClient.AwaitedReply(reply)));
        return reply.thenApply(message -> {
            message.release();
            return true;
        });
    }
}
