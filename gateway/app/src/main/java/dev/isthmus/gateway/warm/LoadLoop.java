package dev.isthmus.gateway.warm;

import dev.isthmus.gateway.call.BodyForm;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.upstream.Upstream;
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

/** The same request many times, a few at once. Owns the request. */
final class LoadLoop {
    private static final int AT_ONCE = 4;

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
     * Sends the requests and waits for the answers, until it is late.
     *
     * @param nanos how long that may take; none or less for not at all
     * @return requests that were answered, or 0 where it was late
     */
    int run(EventLoop loop, long nanos) throws Exception {
        if (nanos <= 0) {
            return 0;
        }
        LoadRound round = new LoadRound(loop);
        loop.execute(round::begin);
        try {
            return round.ended.get(nanos, TimeUnit.NANOSECONDS);
        } catch (TimeoutException late) {
            loop.execute(round::stop);
            return 0;
        }
    }

    /** One run. Lives on the loop. */
    private final class LoadRound {
        private final CompletableFuture<Integer> ended = new CompletableFuture<>();
        private final EventLoop loop;
        private int left = times;
        private int underWay;

        LoadRound(EventLoop loop) {
            this.loop = loop;
        }

        void begin() {
            for (int i = 0; i < AT_ONCE; i++) {
                next();
            }
        }

        void stop() {
            left = 0;
        }

        void next() {
            if (left == 0) {
                if (underWay == 0) {
                    ended.complete(times);
                }
                return;
            }
            left--;
            underWay++;
            Call call = new Call(
                    new Operation.Infer(model, new BodyForm.RestForm(RestBody.ALL_JSON, -1, null), false),
                    Call.NO_DEADLINE,
                    Map.of(),
                    loop,
                    allocator);
            gateway.infer(call, model, request.retained(), new LoadReply(this));
        }

        /** Never at once: the answer may have come within {@link #next}. */
        void answered() {
            underWay--;
            loop.execute(this::next);
        }

        void failed(OipException failure) {
            left = 0;
            ended.completeExceptionally(failure);
        }
    }

    /** The end of one request. */
    private record LoadReply(LoadRound round) implements Reply {
        @Override
        public void message(ReplyMessage answer) {
            answer.release();
        }

        @Override
        public void complete() {
            round.answered();
        }

        @Override
        public void fail(OipException failure) {
            round.failed(failure);
        }
    }
}
