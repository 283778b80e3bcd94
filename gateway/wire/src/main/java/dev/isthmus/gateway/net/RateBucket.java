package dev.isthmus.gateway.net;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A token bucket stored as one number: the time at which it will be full again, on the scale of {@link
 * System#nanoTime()}. Taking tokens moves that time forward; tokens are available as long as it is at most the burst
 * away. Lock-free.
 */
public final class RateBucket {
    private final double nanosPerToken;
    private final long burst;
    private final AtomicLong fullAt;

    /**
     * A full bucket.
     *
     * @param burstNanos the time in which an empty bucket becomes full: its capacity
     */
    public RateBucket(long perSecond, long burstNanos, long now) {
        this.nanosPerToken = (double) TimeUnit.SECONDS.toNanos(1) / perSecond;
        this.burst = burstNanos;
        this.fullAt = new AtomicLong(now);
    }

    /**
     * Takes tokens if they are available. A request for more than the capacity succeeds only if the bucket is full, and
     * leaves it in debt.
     *
     * @return 0, or the nanoseconds until the tokens are available
     */
    public long take(long amount, long now) {
        long cost = cost(amount);
        long before;
        long debt;
        do {
            before = fullAt.get();
            debt = Math.max(before - now, 0);
            long wait = debt + Math.min(cost, burst) - burst;
            if (wait > 0) {
                return wait;
            }
        } while (!fullAt.compareAndSet(before, now + debt + cost));
        return 0;
    }

    /** Returns tokens that were just taken. */
    public void refund(long amount) {
        fullAt.addAndGet(-cost(amount));
    }

    private long cost(long amount) {
        return Math.max(1, Math.round(amount * nanosPerToken));
    }
}
