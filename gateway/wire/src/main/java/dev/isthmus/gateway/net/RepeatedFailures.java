package dev.isthmus.gateway.net;

import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/** Decides which of many equal failures are logged: the first, and one a minute. Thread-safe. */
public final class RepeatedFailures {
    private static final long AGAIN_NANOS = TimeUnit.MINUTES.toNanos(1);

    private final LongSupplier nanoTime;
    // Guarded by this.
    private String last = "";
    private long loggedAt;

    /** @param nanoTime as {@link System#nanoTime()} */
    public RepeatedFailures(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
    }

    /** Whether this failure is to be logged. */
    public synchronized boolean first(String reason) {
        long now = nanoTime.getAsLong();
        if (reason.equals(last) && now - loggedAt < AGAIN_NANOS) {
            return false;
        }
        last = reason;
        loggedAt = now;
        return true;
    }
}
