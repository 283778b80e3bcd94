package dev.isthmus.gateway.fleet;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/**
 * How many further tries a cluster may be given: a share of the calls that needed none, saved up to a bound, and one a second
 * so that a quiet gateway can try again, too. Where everything fails nothing is earned: what is sent stays near what came.
 * Lock-free, for all event loops.
 */
final class RetryBudget {
    private static final long ONE = 1_000_000;
    private static final long FIRST = 10 * ONE;
    private static final long MOST = 100 * ONE;
    private static final long FLOOR_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final long share;
    private final LongSupplier nanoTime;
    private final AtomicLong saved;
    private final AtomicLong lastFree;

    /** @param share of a try that each call earns; with 0 there is none at all */
    RetryBudget(double share, LongSupplier nanoTime) {
        this.share = Math.round(share * ONE);
        this.nanoTime = nanoTime;
        this.saved = new AtomicLong(this.share == 0 ? 0 : FIRST);
        this.lastFree = new AtomicLong(nanoTime.getAsLong());
    }

    /** A call was answered at the first try. */
    void earn() {
        long before = saved.get();
        while (before < MOST && !saved.compareAndSet(before, Math.min(MOST, before + share))) {
            before = saved.get();
        }
    }

    /** Takes one further try; false where there is none left. */
    boolean take() {
        long before = saved.get();
        while (before >= ONE) {
            if (saved.compareAndSet(before, before - ONE)) {
                return true;
            }
            before = saved.get();
        }
        long last = lastFree.get();
        long now = nanoTime.getAsLong();
        return share > 0 && now - last >= FLOOR_NANOS && lastFree.compareAndSet(last, now);
    }
}
