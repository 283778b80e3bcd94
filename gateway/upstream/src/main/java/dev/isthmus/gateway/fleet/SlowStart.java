package dev.isthmus.gateway.fleet;

import java.time.Duration;

/** Slow start of one server: its share of calls grows from a tenth to the full share. */
final class SlowStart {
    /** Not 0, so that the server is seen to work and its latency is measured from the start. */
    static final double FLOOR = 0.1;

    private final long window;
    private volatile long since;

    private SlowStart(long window, long since) {
        this.window = window;
        this.since = since;
    }

    /** For a server that gets its full share at once, until it {@linkplain #restart starts again}. */
    static SlowStart full(Duration window, long now) {
        return new SlowStart(window.toNanos(), now - window.toNanos());
    }

    /** For a server that joins others that already serve calls. */
    static SlowStart joining(Duration window, long now) {
        return new SlowStart(window.toNanos(), now);
    }

    /** Begins again when the server returns, which may be in the future. */
    void restart(long from) {
        since = from;
    }

    /** When the share is full, unless it starts again. */
    long end() {
        return since + window;
    }

    /** The share of calls at this time, from {@link #FLOOR} to 1. */
    double share(long now) {
        if (window == 0) {
            return 1;
        }
        return Math.clamp((double) (now - since) / window, FLOOR, 1);
    }
}
