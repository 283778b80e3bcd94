package dev.isthmus.gateway.shadow;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.isthmus.gateway.memory.ReservedBytes;
import dev.isthmus.gateway.metrics.ReplaceableMeters;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.ResponseForm;
import dev.isthmus.transcoder.compare.TensorComparison;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.buffer.ByteBufAllocator;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * State shared by all shadows of a process: their limits, the comparison thread, and their statistics, which are kept
 * while any configuration has the shadow. Thread-safe.
 */
public final class ShadowRuntime implements AutoCloseable {
    private static final long CLOSE_TIMEOUT_SECONDS = 5;

    private final MeterRegistry registry;
    final RandomGenerator random;
    private final LongSupplier nanoTime;
    private final DifferenceListener listener;
    final ShadowLimits limits;
    private final ReservedBytes held;
    /** The single thread that compares responses, to keep comparisons off the event loops. */
    private final ThreadPoolExecutor comparer;

    private final Map<ShadowName, SharedFigures> figures = new HashMap<>();

    /** Statistics, and the number of shadows of current and replaced configurations that use them. */
    private record SharedFigures(ShadowFigures figures, int uses) {}

    /**
     * @param random samples the calls; thread-safe
     * @param nanoTime on the scale of {@link System#nanoTime()}
     */
    public ShadowRuntime(
            MeterRegistry registry,
            RandomGenerator random,
            LongSupplier nanoTime,
            DifferenceListener listener,
            ShadowLimits limits) {
        this.registry = registry;
        this.random = random;
        this.nanoTime = nanoTime;
        this.listener = listener;
        this.limits = limits;
        this.held = new ReservedBytes(limits.heldBytes());
        this.comparer = new ThreadPoolExecutor(
                1,
                1,
                0,
                TimeUnit.SECONDS,
                new ArrayBlockingQueue<>(limits.queued()),
                Thread.ofPlatform().daemon().name("isthmus-compare").factory());
    }

    long now() {
        return nanoTime.getAsLong();
    }

    ReservedBytes held() {
        return held;
    }

    /** Queues a comparison (taken); drops it if the queue is full or this is closed. */
    void compare(ResponsePair pair) {
        try {
            comparer.execute(pair);
        } catch (RejectedExecutionException full) {
            pair.drop();
        }
    }

    /** The statistics of a shadow; {@link #forget} must follow. */
    ShadowFigures figures(ShadowName name) {
        synchronized (figures) {
            return figures.compute(
                            name,
                            (key, shared) -> shared == null
                                    ? new SharedFigures(
                                            new ShadowFigures(key, new ReplaceableMeters(registry), nanoTime, listener),
                                            1)
                                    : new SharedFigures(shared.figures(), shared.uses() + 1))
                    .figures();
        }
    }

    void forget(ShadowName name) {
        synchronized (figures) {
            SharedFigures shared = figures.remove(name);
            if (shared != null && shared.uses() > 1) {
                figures.put(name, new SharedFigures(shared.figures(), shared.uses() - 1));
            } else if (shared != null) {
                shared.figures().close();
            }
        }
    }

    /** All shadows, by model and name. */
    public List<ShadowReport> reports() {
        synchronized (figures) {
            return figures.values().stream()
                    .map(shared -> shared.figures().report())
                    .sorted(Comparator.comparing(ShadowReport::model).thenComparing(ShadowReport::shadow))
                    .toList();
        }
    }

    public ArrayNode document() {
        ArrayNode document = JsonNodeFactory.instance.arrayNode();
        reports().forEach(report -> document.add(report.document()));
        return document;
    }

    /**
     * Drops the queued comparisons; may wait for the one in progress. Copies in flight end with their upstreams.
     */
    @Override
    public void close() {
        comparer.shutdownNow().forEach(waiting -> ((ResponsePair) waiting).drop());
        try {
            comparer.awaitTermination(CLOSE_TIMEOUT_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * A primary response and a shadow's response to the same request, on any wires. Owns both and their memory reservation;
     * exactly one of {@link #run()} and {@link #drop()} is called.
     *
     * @param requestId of the call
     * @param held bytes that are reserved for both
     */
    record ResponsePair(
            Shadow shadow,
            String requestId,
            ByteBufAllocator allocator,
            InferMessage primary,
            InferMessage copied,
            long held)
            implements Runnable {
        private static final Logger LOG = LoggerFactory.getLogger(ResponsePair.class);

        @Override
        public void run() {
            InferResponse first = null;
            InferResponse second = null;
            try {
                first = decoded(primary);
                second = decoded(copied);
                compare(first, second);
            } catch (OutOfMemoryError noMemory) {
                shadow.figures().count(ComparisonResult.DROPPED);
            } catch (RuntimeException fault) {
                RepeatingLogEvent.fault(LOG, fault)
                        .log("internal error in a comparison with a shadow's response; please report it");
            } finally {
                if (first != null) {
                    first.release();
                }
                if (second != null) {
                    second.release();
                }
                release();
            }
        }

        private void compare(@Nullable InferResponse first, @Nullable InferResponse second) {
            ShadowFigures figures = shadow.figures();
            if (first == null) {
                figures.count(ComparisonResult.LEFT_OUT);
            } else if (second == null) {
                figures.unreadable(requestId);
            } else {
                figures.compared(
                        requestId,
                        TensorComparison.of(first, second),
                        output -> shadow.tolerance().accepts(output, first, second));
            }
        }

        /** The decoded response; null if it cannot be decoded. */
        private @Nullable InferResponse decoded(InferMessage message) {
            try {
                InferMessage decoded =
                        shadow.transcoder().response(allocator, message.retained(), ResponseForm.DECODED);
                return ((InferMessage.Response) decoded).response();
            } catch (OipException unreadable) {
                return null;
            }
        }

        /** Releases everything without comparing. */
        void drop() {
            shadow.figures().count(ComparisonResult.DROPPED);
            release();
        }

        private void release() {
            primary.release();
            copied.release();
            shadow.runtime().held().release(held);
        }
    }
}
