package dev.isthmus.gateway.fleet;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Peak EWMA of a server's response latency: it rises to a higher sample at once, falls slowly, and decays while nothing
 * is measured, so that a slow server is tried again. Thread-safe.
 */
final class LatencyEstimate {
    private static final double DECAY_NANOS = Duration.ofSeconds(10).toNanos();
    /** Time is stored in units of 2^20 ns, about 1 ms. */
    private static final int UNIT_BITS = 20;

    static final long NOTHING = 0;
    private static final long LOW_HALF = 0xFFFF_FFFFL;

    /**
     * High half: the time of the sample. Low half: the average as float bits. One word, so that both change atomically.
     */
    private final AtomicLong measured = new AtomicLong(NOTHING);

    boolean known() {
        return measured.get() != NOTHING;
    }

    /** The estimate in nanoseconds; 0 if nothing was measured. */
    double at(long now) {
        return at(measured.get(), now);
    }

    /** What is left of a {@link #packed} value; 0 if there is none. */
    static double at(long seen, long now) {
        return seen == NOTHING ? 0 : average(seen) * decay(seen, now);
    }

    /** @param mayLower false for calls that ended without a response: their latency is at least this */
    void measure(long nanos, boolean mayLower, long now) {
        float sample = Math.max(1, nanos);
        measured.updateAndGet(seen -> {
            if (seen == NOTHING) {
                return mayLower ? packed(sample, now) : NOTHING;
            }
            float average = average(seen);
            if (sample < average && !mayLower) {
                return seen;
            }
            double kept = sample < average ? decay(seen, now) : 0;
            return packed((float) (average * kept + sample * (1 - kept)), now);
        });
    }

    /** A value that decays from now on. */
    static long packed(float average, long now) {
        return unit(now) << Integer.SIZE | (Float.floatToRawIntBits(average) & LOW_HALF);
    }

    private static float average(long seen) {
        return Float.intBitsToFloat((int) seen);
    }

    private static double decay(long seen, long now) {
        int units = Math.max(0, (int) (unit(now) - (seen >>> Integer.SIZE)));
        return Math.exp(-((long) units << UNIT_BITS) / DECAY_NANOS);
    }

    private static long unit(long nanos) {
        return nanos >> UNIT_BITS;
    }
}
