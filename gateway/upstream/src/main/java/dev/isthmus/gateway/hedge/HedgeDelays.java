package dev.isthmus.gateway.hedge;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.isthmus.gateway.settings.Hedging;
import dev.isthmus.oip.ModelRef;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** How long to wait for an answer of each model before a second server is asked. Thread-safe. */
public final class HedgeDelays {
    /** Clients choose the names of models; each costs 3 KB. */
    private static final int MODELS = 4096;

    private static final Duration IDLE = Duration.ofMinutes(10);

    private final Hedging settings;
    private final LongSupplier nanoTime;
    private final Cache<ModelRef, LatencyDigest> models = Caffeine.newBuilder()
            .maximumSize(MODELS)
            .expireAfterAccess(IDLE)
            .executor(Runnable::run)
            .build();

    /**
     * Nothing is known at first.
     *
     * @param nanoTime on the scale of {@link System#nanoTime()}
     */
    public HedgeDelays(Hedging settings, LongSupplier nanoTime) {
        this.settings = settings;
        this.nanoTime = nanoTime;
    }

    /** Nanoseconds; {@link Long#MAX_VALUE} as long as too little is known of the model. */
    public long nanos(ModelRef model) {
        LatencyDigest digest = models.getIfPresent(model);
        return digest == null ? Long.MAX_VALUE : Math.max(settings.minDelay().toNanos(), digest.nanos());
    }

    /**
     * Records the latency of a call that was answered, or given up because another server was faster.
     *
     * @param latency in nanoseconds
     */
    public void measure(ModelRef model, long latency) {
        long now = nanoTime.getAsLong();
        @Nullable LatencyDigest digest = models.get(model, name -> new LatencyDigest(settings.quantile(), now));
        if (digest != null) {
            digest.measure(latency, now);
        }
    }

    /**
     * A quantile of the recent latencies of one model, rounded up by at most an eighth. Latencies are counted in buckets,
     * eight for each power of two; each second, with enough calls, those before count half. Thread-safe and lock-free: a
     * latency that is measured while a second ends may get lost.
     */
    static final class LatencyDigest {
        private static final int SUB_BITS = 3;
        /** 2^10 ns, about 1 µs. What is shorter is in the first bucket. */
        private static final int LOWEST_BITS = 10;
        /** 2^37 ns, about 137 s. What is longer is in the last bucket. */
        private static final int HIGHEST_BITS = 37;

        private static final int BUCKETS = (HIGHEST_BITS - LOWEST_BITS) << SUB_BITS;
        private static final long WINDOW_NANOS = TimeUnit.SECONDS.toNanos(1);
        /** With fewer, the quantile of the first second would be chance. */
        private static final int ENOUGH = 50;

        private final double quantile;
        private final AtomicIntegerArray counts = new AtomicIntegerArray(BUCKETS);
        private final AtomicBoolean closing = new AtomicBoolean();
        /** Written by the thread that ends a second. */
        private final double[] before = new double[BUCKETS];

        private volatile long windowStart;
        private volatile int measured;
        private volatile long nanos = Long.MAX_VALUE;

        LatencyDigest(double quantile, long now) {
            this.quantile = quantile;
            this.windowStart = now;
        }

        /** The quantile in nanoseconds; {@link Long#MAX_VALUE} before enough calls. */
        long nanos() {
            return nanos;
        }

        void measure(long latency, long now) {
            counts.incrementAndGet(bucket(latency));
            int calls = measured + 1;
            // Approximate if threads race, which only makes the window a little longer.
            measured = calls;
            if (calls >= ENOUGH && now - windowStart >= WINDOW_NANOS && closing.compareAndSet(false, true)) {
                try {
                    close();
                    measured = 0;
                    windowStart = now;
                } finally {
                    closing.set(false);
                }
            }
        }

        private void close() {
            double all = 0;
            for (int i = 0; i < BUCKETS; i++) {
                before[i] = before[i] / 2 + counts.getAndSet(i, 0);
                all += before[i];
            }
            double sum = 0;
            int at = 0;
            while (at < BUCKETS - 1 && sum + before[at] < all * quantile) {
                sum += before[at++];
            }
            nanos = upperBound(at);
        }

        private static int bucket(long latency) {
            int bits = Long.SIZE - 1 - Long.numberOfLeadingZeros(latency | 1);
            if (bits < LOWEST_BITS) {
                return 0;
            }
            int sub = (int) (latency >>> (bits - SUB_BITS)) & ((1 << SUB_BITS) - 1);
            return Math.min(BUCKETS - 1, ((bits - LOWEST_BITS) << SUB_BITS) + sub);
        }

        /** The first latency of the next bucket. */
        private static long upperBound(int bucket) {
            int next = bucket + 1;
            long mantissa = (1L << SUB_BITS) + (next & ((1 << SUB_BITS) - 1));
            return mantissa << (LOWEST_BITS + (next >> SUB_BITS) - SUB_BITS);
        }
    }
}
