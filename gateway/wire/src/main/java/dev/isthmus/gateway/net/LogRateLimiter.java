package dev.isthmus.gateway.net;

import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/** Limits a log to 100 lines per second and counts suppressed lines. Thread-safe. */
public final class LogRateLimiter {
    private static final int LINES_PER_SECOND = 100;

    private final LongSupplier nanoTime;
    // Guarded by this.
    private long windowStart;
    private int logged;
    private long suppressed;

    /** @param nanoTime as {@link System#nanoTime()} */
    public LogRateLimiter(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
        this.windowStart = nanoTime.getAsLong();
    }

    /** The number of lines suppressed since the last one; negative if the next line is to be suppressed, too. */
    public synchronized long next() {
        long now = nanoTime.getAsLong();
        if (now - windowStart >= TimeUnit.SECONDS.toNanos(1)) {
            windowStart = now;
            logged = 0;
        }
        if (logged == LINES_PER_SECOND) {
            suppressed++;
            return -1;
        }
        logged++;
        long before = suppressed;
        suppressed = 0;
        return before;
    }
}
