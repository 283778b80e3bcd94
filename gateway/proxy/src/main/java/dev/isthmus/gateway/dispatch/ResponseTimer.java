package dev.isthmus.gateway.dispatch;

import java.util.function.LongSupplier;

/** Measures a target's response time: until the response is complete, or starts to be forwarded. */
final class ResponseTimer {
    private static final long NOT_YET = -1;

    private final LongSupplier nanoTime;
    private long sentAt;
    private long nanos = NOT_YET;
    private boolean running;

    ResponseTimer(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
    }

    /** The request is sent. */
    void sending() {
        sentAt = nanoTime.getAsLong();
        nanos = NOT_YET;
        running = true;
    }

    /** The response is received; only the first call since the request was sent counts. */
    void responded() {
        if (running) {
            running = false;
            nanos = nanoTime.getAsLong() - sentAt;
        }
    }

    /** Whether the response has been received since the request was sent. */
    boolean isKnown() {
        return nanos >= 0;
    }

    long nanos() {
        return nanos;
    }
}
