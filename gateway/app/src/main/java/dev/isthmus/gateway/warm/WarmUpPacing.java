package dev.isthmus.gateway.warm;

import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/** How much of the processor a warm-up takes, and when it pauses for clients. Thread-safe. */
final class WarmUpPacing {
    /** All that it can get, whatever clients do. */
    static final WarmUpPacing FULL = new WarmUpPacing(() -> false, false);

    /** How long no client may have called. */
    private static final long QUIET_NANOS = TimeUnit.SECONDS.toNanos(1);

    private static final long SAMPLE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    private final BooleanSupplier busy;
    private final boolean rests;
    private volatile long lastCall = System.nanoTime() - QUIET_NANOS;

    private WarmUpPacing(BooleanSupplier busy, boolean rests) {
        this.busy = busy;
        this.rests = rests;
    }

    /** Half of the time, and only while no client calls. */
    static WarmUpPacing whileIdle(BooleanSupplier busy) {
        return new WarmUpPacing(busy, true);
    }

    /** Whether it must pause: a client calls, or has just done so. Asked before each request of the warm-up. */
    boolean pauses() {
        if (busy.getAsBoolean()) {
            lastCall = System.nanoTime();
            return true;
        }
        return System.nanoTime() - lastCall < QUIET_NANOS;
    }

    /** Waits until no client calls, or until the limit. */
    void awaitIdle(TimeLimit limit) throws InterruptedException {
        while (pauses() && !limit.reached()) {
            TimeUnit.NANOSECONDS.sleep(SAMPLE_NANOS);
        }
    }

    /** Waits as long as it has worked. */
    void rest(long workedNanos, TimeLimit limit) throws InterruptedException {
        if (rests) {
            TimeUnit.NANOSECONDS.sleep(Math.max(0, Math.min(workedNanos, limit.remainingNanos())));
        }
    }
}
