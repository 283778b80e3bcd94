package dev.isthmus.bench.faults;

import java.util.concurrent.TimeUnit;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;

/**
 * Arrivals on a fixed schedule, independent of responses: request i is due i / rate seconds after the start. A request
 * that is sent late keeps its scheduled time, from which its latency is measured.
 *
 * @param perSecond arrivals per second
 * @param count number of arrivals
 * @param clock in nanoseconds
 * @param pause waits for at most this many nanoseconds
 */
record OpenLoop(int perSecond, int count, LongSupplier clock, LongConsumer pause) {
    /** Called for each arrival. */
    interface Arrival {
        void arrive(int number, long scheduledNanos);
    }

    /** Runs on the caller's thread until the last arrival. */
    void run(Arrival arrival) {
        long start = clock.getAsLong();
        for (int i = 0; i < count; i++) {
            long due = start + offset(i);
            for (long wait = due - clock.getAsLong(); wait > 0; wait = due - clock.getAsLong()) {
                pause.accept(wait);
            }
            arrival.arrive(i, due);
        }
    }

    private long offset(int number) {
        return TimeUnit.SECONDS.toNanos(1) * number / perSecond;
    }
}
