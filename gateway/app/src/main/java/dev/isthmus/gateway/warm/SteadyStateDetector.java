package dev.isthmus.gateway.warm;

/** Detects from the duration of equal rounds when they no longer become faster. */
final class SteadyStateDetector {
    /** A round counts as faster only if it takes less than this share of the best one. */
    private static final double FASTER = 0.95;

    private final int maxSlowRounds;
    private final int minRounds;
    private long best = Long.MAX_VALUE;
    private int rounds;
    private int sinceBest;

    /**
     * @param minRounds rounds before which the state is never steady: compilation starts only after code has run for a
     *     while
     * @param maxSlowRounds consecutive rounds that are not faster
     */
    SteadyStateDetector(int minRounds, int maxSlowRounds) {
        this.minRounds = minRounds;
        this.maxSlowRounds = maxSlowRounds;
    }

    /** Records a round; returns whether rounds no longer become faster. */
    boolean steady(long nanos) {
        rounds++;
        if (nanos < best * FASTER) {
            best = nanos;
            sinceBest = 0;
        } else {
            sinceBest++;
        }
        return rounds >= minRounds && sinceBest >= maxSlowRounds;
    }
}
