package dev.isthmus.gateway.ramp;

import java.util.concurrent.atomic.AtomicLongArray;
import java.util.stream.IntStream;

/**
 * A histogram of durations with 16 buckets per power of two: a percentile is at most 1/16 too high. Lock-free and
 * thread-safe.
 */
public final class LatencyHistogram {
    private static final int BITS = 4;
    private static final int PER_POWER = 1 << BITS;

    /** Standard deviations below the mean of a binomial number that it practically never is. */
    private static final double NEGLIGIBLE = 8;

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
        return atRank((long) Math.ceil(count() * share));
    }

    private long count() {
        return IntStream.range(0, buckets.length()).mapToLong(buckets::get).sum();
    }

    private long atRank(long rank) {
        long seen = 0;
        for (int i = 0; i < buckets.length(); i++) {
            seen += buckets.get(i);
            if (seen > 0 && seen >= rank) {
                return value(i);
            }
        }
        return 0;
    }

    /**
     * An interval for the duration that this share of all calls, of which those recorded are a sample, does not exceed:
     * by order statistics, so for any distribution.
     *
     * @param error the probability that it is below the interval, and that it is above
     */
    PercentileInterval interval(double share, double error) {
        long total = count();
        // The number of recorded durations above the percentile is binomial.
        double mean = total * (1 - share);
        // Fewer have next to no weight, and there may be millions of them.
        long most = Math.max(0, (long) (mean - NEGLIGIBLE * Math.sqrt(mean * share)));
        long fewest = -1;
        double term = Binomial.logExactly(most, total, 1 - share);
        double atMost = Math.exp(term);
        while (most < total && atMost < 1 - error) {
            if (atMost <= error) {
                fewest = most;
            }
            most++;
            term += Math.log((total - most + 1.0) / most * (1 - share) / share);
            atMost += Math.exp(term);
        }
        long above = fewest < 0 ? Long.MAX_VALUE : atRank(total - fewest);
        return new PercentileInterval(most == total ? 0 : atRank(total - most), above);
    }

    /**
     * Where a percentile is.
     *
     * @param below 0 if too little was recorded
     * @param above {@link Long#MAX_VALUE} if too little was recorded
     */
    record PercentileInterval(long below, long above) {}
}
