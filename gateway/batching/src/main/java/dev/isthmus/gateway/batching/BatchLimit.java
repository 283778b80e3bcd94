package dev.isthmus.gateway.batching;

import java.util.concurrent.TimeUnit;

/**
 * How many requests are joined at most: a power of two that follows what the server gains. It begins with the largest.
 * The rate of calls of a size is the mean number of requests at the server, divided by the mean time of a call (Little's
 * law). Every {@link #HOLD_NANOS} one size less is measured, by {@link #WINDOW} calls, and then each larger one is tried
 * and kept as long as its rate is more than 5 % higher. A limit that most calls do not reach is first lowered to their
 * mean. Not thread-safe.
 */
final class BatchLimit {
    /** Calls that are measured before a decision. */
    static final int WINDOW = 32;

    static final long HOLD_NANOS = TimeUnit.SECONDS.toNanos(5);
    private static final double GAIN = 1.05;

    /** By the logarithm of the size; 0 while it was not measured. */
    private final double[] rates;

    private int largest;
    private int size;
    /** Whether the present size is measured to compare the next larger one with it. */
    private boolean base;
    /** Whether the present size is tried. */
    private boolean climbing;

    private long settledNanos;
    private double requests;
    private double nanos;
    private int calls;
    private int smaller;
    private int joinedInSmaller;
    /** The most requests that a call was answered with, since one with as many has failed. */
    private int proven;

    /** @param max the number of requests that may be joined */
    BatchLimit(int max, long now) {
        this.largest = Integer.SIZE - 1 - Integer.numberOfLeadingZeros(max);
        this.rates = new double[largest + 1];
        this.size = largest;
        this.settledNanos = now;
    }

    /** The number of requests that are joined at most. */
    int requests() {
        return 1 << size;
    }

    /**
     * A call was answered.
     *
     * @param joined the requests in it
     * @param atServer the mean of the requests of the model that were at the server meanwhile
     */
    void answered(int joined, double atServer, long tookNanos, long now) {
        proven = Math.max(proven, joined);
        if (joined * 2 <= requests()) {
            smaller(joined, now);
            return;
        }
        requests += atServer;
        nanos += tookNanos;
        calls++;
        if (calls >= WINDOW) {
            rates[size] = requests / Math.max(1, nanos);
            decide(now);
            clear();
        }
    }

    /** Most calls do not reach the limit: nothing would ever be measured. */
    private void smaller(int joined, long now) {
        smaller++;
        joinedInSmaller += joined;
        if (smaller >= WINDOW && smaller > calls && now - settledNanos >= HOLD_NANOS) {
            int mean = Math.max(1, joinedInSmaller / smaller);
            size = Math.min(size - 1, Integer.SIZE - Integer.numberOfLeadingZeros(mean - 1));
            climbing = false;
            lower();
            clear();
        }
    }

    private void decide(long now) {
        if (base || (climbing && gains())) {
            base = false;
            climbing = size < largest;
            size += climbing ? 1 : 0;
            settledNanos = now;
        } else if (climbing) {
            size--;
            climbing = false;
            settledNanos = now;
        } else if (now - settledNanos >= HOLD_NANOS) {
            lower();
        }
    }

    /** Begins with the measurement of one size less. */
    private void lower() {
        size = Math.max(0, size - 1);
        base = true;
    }

    private boolean gains() {
        return rates[size] > GAIN * rates[size - 1];
    }

    private void clear() {
        requests = 0;
        nanos = 0;
        calls = 0;
        smaller = 0;
        joinedInSmaller = 0;
    }

    /**
     * A call with this many requests failed, and each of them succeeded alone: fewer are joined from now on, unless one with
     * as many has succeeded since the last such failure.
     *
     * @return whether none are
     */
    boolean failed(int joined) {
        if (joined <= proven) {
            proven = 0;
            return false;
        }
        largest = Math.min(largest, Integer.SIZE - 1 - Integer.numberOfLeadingZeros((joined + 1) / 2));
        if (size > largest) {
            size = largest;
            base = false;
            climbing = false;
        }
        clear();
        return largest == 0;
    }
}
