package dev.isthmus.gateway.shadow;

import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/** The largest difference of the last five minutes, in slots of 30 s. */
final class WorstDifference {
    private static final int SLOTS = 10;
    private static final long SLOT_NANOS = TimeUnit.SECONDS.toNanos(30);

    private final LongSupplier nanoTime;
    private final long origin;
    private final double[] largest = new double[SLOTS];
    private long slot;

    WorstDifference(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
        this.origin = nanoTime.getAsLong();
    }

    synchronized void add(double difference) {
        advance();
        int index = (int) (slot % SLOTS);
        largest[index] = Math.max(largest[index], difference);
    }

    /** 0 if there was none. */
    synchronized double largest() {
        advance();
        return Arrays.stream(largest).max().orElse(0);
    }

    private void advance() {
        long now = (nanoTime.getAsLong() - origin) / SLOT_NANOS;
        if (now - slot >= SLOTS) {
            Arrays.fill(largest, 0);
            slot = now;
        }
        while (slot < now) {
            slot++;
            largest[(int) (slot % SLOTS)] = 0;
        }
    }
}
