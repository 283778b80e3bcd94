package dev.isthmus.gateway.metrics;

import java.util.concurrent.atomic.AtomicInteger;

/** How many time series the meters of calls may still have. Thread-safe. */
final class SeriesBudget {
    private volatile int limit;
    private final AtomicInteger used = new AtomicInteger();

    SeriesBudget(int limit) {
        this.limit = limit;
    }

    /** Takes this many series; false if the limit does not allow them. */
    boolean take(int series) {
        int before = used.get();
        while (before + series <= limit) {
            if (used.compareAndSet(before, before + series)) {
                return true;
            }
            before = used.get();
        }
        return false;
    }

    /** Returns series that are no longer exported. */
    void release(int series) {
        used.addAndGet(-series);
    }

    void limit(int series) {
        limit = series;
    }

    int used() {
        return used.get();
    }

    int limit() {
        return limit;
    }
}
