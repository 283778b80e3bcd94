package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Answer;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBufAllocator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Asks every upstream from time to time whether it is ready, so that a health request costs nothing and never fans out.
 * Runs on one event loop; its result may be read from any thread.
 */
public final class Prober implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Prober.class);
    private static final long PERIOD_MILLIS = 1_000;
    private static final long TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(5);

    private final List<Upstream> upstreams;
    private final ScheduledExecutorService loop;
    private final ByteBufAllocator allocator;
    private final AtomicReferenceArray<@Nullable Boolean> ready;
    private final boolean[] asking;
    private final boolean[] described;
    private @Nullable ScheduledFuture<?> schedule;

    public Prober(List<Upstream> upstreams, ScheduledExecutorService loop, ByteBufAllocator allocator) {
        this.upstreams = List.copyOf(upstreams);
        this.loop = loop;
        this.allocator = allocator;
        this.ready = new AtomicReferenceArray<>(upstreams.size());
        this.asking = new boolean[upstreams.size()];
        this.described = new boolean[upstreams.size()];
    }

    public void start() {
        schedule = loop.scheduleWithFixedDelay(this::probe, 0, PERIOD_MILLIS, TimeUnit.MILLISECONDS);
    }

    /** Whether every upstream said that it is ready when it was last asked. */
    public boolean allReady() {
        for (int i = 0; i < upstreams.size(); i++) {
            if (!Boolean.TRUE.equals(ready.get(i))) {
                return false;
            }
        }
        return true;
    }

    /** Whether every upstream was heard of. */
    public boolean allAsked() {
        for (int i = 0; i < upstreams.size(); i++) {
            if (ready.get(i) == null) {
                return false;
            }
        }
        return true;
    }

    private void probe() {
        for (int i = 0; i < upstreams.size(); i++) {
            if (!asking[i]) {
                asking[i] = true;
                long deadline = System.nanoTime() + TIMEOUT_NANOS;
                Call call = new Call(new Operation.ServerReady(), deadline, Map.of(), loop, allocator);
                if (described[i]) {
                    upstreams.get(i).serverReady(call, new Outcome(i));
                } else {
                    upstreams.get(i).serverMetadata(call, new Description(i, call));
                }
            }
        }
    }

    @Override
    public void close() {
        if (schedule != null) {
            schedule.cancel(false);
        }
    }

    /** Metadata come before the first question for readiness: upstreams learn from them what their server knows. */
    private final class Description implements Reply {
        private final int upstream;
        private final Call call;

        Description(int upstream, Call call) {
            this.upstream = upstream;
            this.call = call;
        }

        @Override
        public void message(Answer answer) {
            described[upstream] = true;
            answer.release();
        }

        @Override
        public void complete() {
            upstreams.get(upstream).serverReady(call, new Outcome(upstream));
        }

        @Override
        public void fail(OipException failure) {
            // The reason, if it still holds, is told by the answer on readiness.
            complete();
        }
    }

    private final class Outcome implements Reply {
        private final int upstream;

        Outcome(int upstream) {
            this.upstream = upstream;
        }

        @Override
        public void message(Answer answer) {
            note(answer instanceof Answer.Ready is && is.ready(), "it says that it is not ready");
            answer.release();
        }

        @Override
        public void complete() {
            asking[upstream] = false;
        }

        @Override
        public void fail(OipException failure) {
            note(false, failure.message());
            asking[upstream] = false;
        }

        private void note(boolean now, String reason) {
            Boolean before = ready.getAndSet(upstream, now);
            if (before == null || before != now) {
                String name = upstreams.get(upstream).name();
                if (now) {
                    LOG.info("upstream '{}' is ready", name);
                } else {
                    LOG.warn("upstream '{}' is not ready: {}", name, reason);
                }
            }
        }
    }
}
