package dev.isthmus.gateway.redis;

import java.util.concurrent.CompletableFuture;

/** The buckets of tokens that gateways share. Thread-safe; never blocks. */
interface TokenStore {

    /** Names a bucket, and its rate. */
    record TokenBucketKey(String limit, long perSecond, long burstNanos) {}

    /**
     * What was taken from a bucket.
     *
     * @param tokens number of tokens
     * @param waitNanos if the first tokens asked for were refused, the time until they are available; otherwise 0
     * @param debtNanos time until the bucket is full again
     */
    record Grant(long tokens, long waitNanos, long debtNanos) {}

    /** Whether the last request was answered. If not, no request waits. */
    boolean answers();

    /**
     * Takes tokens. Completes on any thread, within a limited time.
     *
     * @param first all of these or none; more than the capacity if the bucket is full
     * @param more as many of these as are left, if {@code first} are taken
     */
    CompletableFuture<Grant> take(TokenBucketKey bucket, long first, long more);

    /** Returns tokens. Does nothing if the store does not answer. */
    void giveBack(TokenBucketKey bucket, long tokens);

    /** Runs a task later, on any thread; not if the store is closed. */
    void later(Runnable task, long nanos);
}
