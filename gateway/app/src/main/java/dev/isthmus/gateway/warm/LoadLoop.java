package dev.isthmus.gateway.warm;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Operation.BodyForm;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.rest.RestBody;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoop;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Sends the same request repeatedly, a few at a time. Owns the request. */
record LoadLoop(Upstream gateway, ModelRef model, InferMessage request, int times, ByteBufAllocator allocator) {
    private static final int CONCURRENCY = 4;

    void release() {
        request.release();
    }

    /**
     * Sends the requests and waits for the responses, until the timeout, or until it must pause.
     *
     * @param nanos the timeout; 0 or less to skip the run
     * @return the number of requests that were sent
     */
    int run(EventLoop loop, long nanos, WarmUpPacing pacing) throws Exception {
        if (nanos <= 0 || pacing.pauses()) {
            return 0;
        }
        LoadRound round = new LoadRound(loop, pacing);
        loop.execute(round::begin);
        try {
            return round.ended.get(nanos, TimeUnit.NANOSECONDS);
        } catch (TimeoutException late) {
            return loop.submit(round::stop).get();
        }
    }

    /** One run. Used on the loop. */
    private final class LoadRound {
        private final CompletableFuture<Integer> ended = new CompletableFuture<>();
        private final EventLoop loop;
        private final WarmUpPacing pacing;
        private int remaining = times;
        private int inFlight;
        private int sent;

        LoadRound(EventLoop loop, WarmUpPacing pacing) {
            this.loop = loop;
            this.pacing = pacing;
        }

        void begin() {
            for (int i = 0; i < CONCURRENCY; i++) {
                next();
            }
        }

        /** Ends it; returns how many requests were sent. */
        int stop() {
            remaining = 0;
            return sent;
        }

        void next() {
            if (remaining == 0 || pacing.pauses()) {
                remaining = 0;
                if (inFlight == 0) {
                    ended.complete(sent);
                }
                return;
            }
            remaining--;
            sent++;
            inFlight++;
            Call call = new Call(
                    new Operation.Infer(model, new BodyForm.RestForm(RestBody.ALL_JSON, -1, null), false),
                    Call.NO_DEADLINE,
                    Map.of(),
                    loop,
                    allocator);
            gateway.send(call, new UpstreamRequest.InferenceRequest(model, request.retained()), new LoadReply(this));
        }

        /** Continues in a new task: the response may have arrived within {@link #next}. */
        void responded() {
            inFlight--;
            loop.execute(this::next);
        }

        void failed(OipException failure) {
            remaining = 0;
            ended.completeExceptionally(failure);
        }
    }

    /** Receives one response. */
    private record LoadReply(LoadRound round) implements Reply {
        @Override
        public void message(ReplyMessage message) {
            message.release();
        }

        @Override
        public void complete() {
            round.responded();
        }

        @Override
        public void fail(OipException failure) {
            round.failed(failure);
        }
    }
}
