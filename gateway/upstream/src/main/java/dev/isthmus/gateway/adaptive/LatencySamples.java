package dev.isthmus.gateway.adaptive;

import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * The first latencies of a window, for their median. Thread-safe and lock-free: a sample that arrives while the window
 * is closed may count in either window.
 */
final class LatencySamples {
    /** More do not make the median much more exact. */
    private static final int KEPT = 256;

    private final AtomicLongArray nanos = new AtomicLongArray(KEPT);
    private final AtomicInteger count = new AtomicInteger();

    void add(long sample) {
        if (count.get() < KEPT) {
            int at = count.getAndIncrement();
            if (at < KEPT) {
                nanos.set(at, sample);
            }
        }
    }

    int count() {
        return Math.min(KEPT, count.get());
    }

    /** The median of the window, which has at least one sample; begins the next window. */
    double close() {
        long[] sorted = new long[count()];
        for (int i = 0; i < sorted.length; i++) {
            sorted[i] = nanos.get(i);
        }
        clear();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }

    void clear() {
        count.set(0);
    }
}
