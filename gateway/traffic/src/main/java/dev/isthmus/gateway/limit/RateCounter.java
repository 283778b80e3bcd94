package dev.isthmus.gateway.limit;

/** Counts against one limit: what it counts are tokens of a bucket. Thread-safe; never blocks. */
public interface RateCounter {

    /**
     * Takes tokens if they are available. A request for more than the capacity succeeds only if the bucket is full, and
     * leaves it in debt.
     */
    RateDecision take(long amount);

    /** Returns tokens that were just taken. */
    void refund(long amount);
}
