package dev.isthmus.gateway.net;

import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/** Lets at most a hundred lines a second into the log, and counts the others. For all event loops. */
public final class LogRateLimiter {
    private static final int A_SECOND = 100;

    private final LongSupplier nanoTime;
    // Guarded by this.
    private long begun;
    private int told;
    private long leftOut;

    /** @param nanoTime as {@link System#nanoTime()} */
    public LogRateLimiter(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
        this.begun = nanoTime.getAsLong();
    }

    /** How many lines were left out before the next one; negative where it is left out, too. */
    public synchronized long next() {
        long now = nanoTime.getAsLong();
        if (now - begun >= TimeUnit.SECONDS.toNanos(1)) {
            begun = now;
            told = 0;
        }
        if (told == A_SECOND) {
            leftOut++;
            return -1;
        }
        told++;
        long before = leftOut;
        leftOut = 0;
        return before;
    }
}
