package dev.isthmus.gateway.redis;

import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Whether the server answers. It does not if the connection fails, or if no answer came in time for a second: on a busy
 * host single answers are late. It does again with the first answer in time. Thread-safe.
 */
final class ServerAvailability {
    /** Several commands are sent in this time, whatever the load. */
    static final long PATIENCE = TimeUnit.SECONDS.toNanos(1);

    private final LongSupplier nanoTime;
    private volatile boolean answers;

    // Guarded by this.
    private long answered;
    private long lost;

    /**
     * Of a server that has not answered yet.
     *
     * @param nanoTime as {@link System#nanoTime()}
     */
    ServerAvailability(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
        answered = nanoTime.getAsLong();
        lost = answered;
    }

    boolean answers() {
        return answers;
    }

    /** An answer came in time. Returns whether that changes anything. */
    synchronized boolean inTime() {
        answered = nanoTime.getAsLong();
        boolean changed = !answers;
        answers = true;
        return changed;
    }

    /** An answer did not come in time. Returns whether the server does not answer because of it. */
    synchronized boolean late() {
        return nanoTime.getAsLong() - answered >= PATIENCE && failed();
    }

    /** The connection is of no use. Returns whether the server does not answer because of it. */
    synchronized boolean failed() {
        boolean changed = answers;
        answers = false;
        lost = changed ? nanoTime.getAsLong() : lost;
        return changed;
    }

    /** Whether it has not answered for longer than a time. */
    synchronized boolean silentFor(long nanos) {
        return !answers && nanoTime.getAsLong() - lost > nanos;
    }
}
