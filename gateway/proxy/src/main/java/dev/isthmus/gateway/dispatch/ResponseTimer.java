package dev.isthmus.gateway.dispatch;

import java.util.function.LongSupplier;

/** How long a target takes to answer: until the answer is there, or begins to be passed on. */
final class ResponseTimer {
    private static final long NOT_YET = -1;

    private final LongSupplier nanoTime;
    private long sentAt;
    private long nanos = NOT_YET;
    private boolean running;

    ResponseTimer(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
    }

    /** The request goes out. */
    void sending() {
        sentAt = nanoTime.getAsLong();
        nanos = NOT_YET;
        running = true;
    }

    /** The answer comes; only the first time since the request went out counts. */
    void answered() {
        if (running) {
            running = false;
            nanos = nanoTime.getAsLong() - sentAt;
        }
    }

    /** Whether the answer has come since the request went out. */
    boolean known() {
        return nanos >= 0;
    }

    long nanos() {
        return nanos;
    }
}
