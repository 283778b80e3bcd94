package dev.isthmus.gateway.ramp;

import java.util.concurrent.atomic.AtomicLongArray;

/**
 * A histogram of durations with 16 buckets per power of two: a percentile is at most 1/16 too high. Lock-free and
 * thread-safe.
 */
public final class LatencyHistogram {
    private static final int BITS = 4;
    private static final int PER_POWER = 1 << BITS;

    private final AtomicLongArray buckets = new AtomicLongArray((Long.SIZE - BITS) * PER_POWER);

    public void record(long nanos) {
        buckets.incrementAndGet(index(Math.max(0, nanos)));
    }

    /**
     * Durations below twice the number of buckets per power have a bucket each; above, the leading bits select the
     * bucket.
     */
    private static int index(long nanos) {
        int shift = Math.max(0, Long.SIZE - 1 - BITS - Long.numberOfLeadingZeros(nanos));
        return (shift << BITS) + (int) (nanos >>> shift);
    }

    /** The upper bound of a bucket. */
    private static long value(int index) {
        int shift = Math.max(0, (index >> BITS) - 1);
        long lead = index - ((long) shift << BITS);
        return ((lead + 1) << shift) - 1;
    }

    /** The duration that this share of all did not exceed; 0 if nothing was recorded. */
    public long percentile(double share) {
        long total = 0;
        for (int i = 0; i < buckets.length(); i++) {
            total += buckets.get(i);
        }
        long rank = Math.max(1, (long) Math.ceil(total * share));
        long seen = 0;
        for (int i = 0; i < buckets.length() && total > 0; i++) {
            seen += buckets.get(i);
            if (seen >= rank) {
                return value(i);
            }
        }
        return 0;
    }
}
