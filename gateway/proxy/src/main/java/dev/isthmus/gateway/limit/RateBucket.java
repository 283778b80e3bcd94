package dev.isthmus.gateway.limit;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A token bucket in one number: when it will be full again, on the scale of {@link System#nanoTime()}. What is taken moves
 * that moment on; as long as it is no further away than the burst, there is room. Lock-free.
 */
final class RateBucket {
    private final double nanosEach;
    private final long burst;
    private final AtomicLong fullAt;

    /** A full bucket. */
    RateBucket(long perSecond, long burstNanos, long now) {
        this.nanosEach = (double) TimeUnit.SECONDS.toNanos(1) / perSecond;
        this.burst = burstNanos;
        this.fullAt = new AtomicLong(now);
    }

    /**
     * Takes from it where there is room. More than it ever holds is given from a full one, which is in debt then.
     *
     * @return 0, or the nanoseconds until there is room
     */
    long take(long amount, long now) {
        long cost = cost(amount);
        long before;
        long from;
        do {
            before = fullAt.get();
            from = Math.max(before - now, 0);
            long wait = from + Math.min(cost, burst) - burst;
            if (wait > 0) {
                return wait;
            }
        } while (!fullAt.compareAndSet(before, now + from + cost));
        return 0;
    }

    /** Puts back what was taken a moment ago. */
    void putBack(long amount) {
        fullAt.addAndGet(-cost(amount));
    }

    private long cost(long amount) {
        return Math.max(1, Math.round(amount * nanosEach));
    }
}
