package dev.isthmus.gateway.fleet;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/**
 * The retry budget of a cluster: a share of the calls that succeeded at the first attempt, saved up to a bound, and one
 * per second so that an idle gateway can retry, too. If everything fails nothing is earned, so retries barely add to
 * the load. Lock-free and thread-safe.
 */
final class RetryBudget {
    private static final long RETRY = 1_000_000;
    private static final long INITIAL = 10 * RETRY;
    private static final long MAX = 100 * RETRY;
    private static final long FREE_INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final long share;
    private final LongSupplier nanoTime;
    private final AtomicLong saved;
    private final AtomicLong lastFree;

    /** @param share of a retry that each call earns; 0 disables retries */
    RetryBudget(double share, LongSupplier nanoTime) {
        this.share = Math.round(share * RETRY);
        this.nanoTime = nanoTime;
        this.saved = new AtomicLong(this.share == 0 ? 0 : INITIAL);
        this.lastFree = new AtomicLong(nanoTime.getAsLong());
    }

    /** The retries that are saved up. */
    double available() {
        return (double) saved.get() / RETRY;
    }

    /** Credits a call that was answered at the first attempt. */
    void earn() {
        long before = saved.get();
        while (before < MAX && !saved.compareAndSet(before, Math.min(MAX, before + share))) {
            before = saved.get();
        }
    }

    /** Takes one retry; false if the budget is exhausted. */
    boolean take() {
        long before = saved.get();
        while (before >= RETRY) {
            if (saved.compareAndSet(before, before - RETRY)) {
                return true;
            }
            before = saved.get();
        }
        long last = lastFree.get();
        long now = nanoTime.getAsLong();
        return share > 0 && now - last >= FREE_INTERVAL_NANOS && lastFree.compareAndSet(last, now);
    }
}
