package dev.isthmus.gateway.warm;

/** Tells from the time that equal rounds take when they no longer become faster. */
final class SteadyStateDetector {
    /** A round is faster than those before only when it takes less than this share of their best. */
    private static final double FASTER = 0.95;

    private final int patience;
    private final int least;
    private long best = Long.MAX_VALUE;
    private int rounds;
    private int sinceBest;

    /**
     * @param least rounds before which nothing is steady: compilers begin when code has run for a while
     * @param patience rounds in a row that are not faster
     */
    SteadyStateDetector(int least, int patience) {
        this.least = least;
        this.patience = patience;
    }

    /** A round is over; returns whether rounds no longer become faster. */
    boolean steady(long nanos) {
        rounds++;
        if (nanos < best * FASTER) {
            best = nanos;
            sinceBest = 0;
        } else {
            sinceBest++;
        }
        return rounds >= least && sinceBest >= patience;
    }
}
