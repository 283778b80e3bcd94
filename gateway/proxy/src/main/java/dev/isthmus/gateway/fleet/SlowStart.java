package dev.isthmus.gateway.fleet;

import java.time.Duration;

/** The slow start of one server: the share of its calls that it gets grows from a tenth to all of them. */
final class SlowStart {
    /** So that a server is seen to work, and its latency is measured, from the start. */
    static final double FLOOR = 0.1;

    private final long window;
    private volatile long since;

    private SlowStart(long window, long since) {
        this.window = window;
        this.since = since;
    }

    /** Of a server that gets its full share at once, until it {@linkplain #restart starts again}. */
    static SlowStart full(Duration window, long now) {
        return new SlowStart(window.toNanos(), now - window.toNanos());
    }

    /** Of a server that joins others which serve already. */
    static SlowStart joining(Duration window, long now) {
        return new SlowStart(window.toNanos(), now);
    }

    /** The server comes back at that time, which may be still to come. */
    void restart(long from) {
        since = from;
    }

    /** From {@link #FLOOR} to 1. */
    double share(long now) {
        if (window == 0) {
            return 1;
        }
        return Math.clamp((double) (now - since) / window, FLOOR, 1);
    }
}
