package dev.isthmus.gateway.catalogue;

import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;

/**
 * When each of several polls is due: one interval after its last result, jittered by ±10 %. Used on one loop.
 *
 * @param <K> identifies a poll
 */
final class PollSchedule<K> {
    private static final double JITTER = 0.1;

    private final long intervalNanos;
    private final LongSupplier nanoTime;
    private final RandomGenerator random;
    private final Map<K, DueTime> polls = new HashMap<>();

    private static final class DueTime {
        private boolean waiting;
        private boolean again;
        private long atNanos;
    }

    PollSchedule(Duration interval, LongSupplier nanoTime, RandomGenerator random) {
        this.intervalNanos = interval.toNanos();
        this.nanoTime = nanoTime;
        this.random = random;
    }

    /** Whether the poll is due; if so, it is in flight until {@link #ended}. */
    boolean begin(K key) {
        DueTime due = polls.get(key);
        if (due == null) {
            due = new DueTime();
            polls.put(key, due);
        } else if (due.waiting || nanoTime.getAsLong() - due.atNanos < 0) {
            return false;
        }
        due.waiting = true;
        return true;
    }

    void ended(K key) {
        DueTime due = polls.get(key);
        if (due != null) {
            due.waiting = false;
            double factor = 1 - JITTER + 2 * JITTER * random.nextDouble();
            due.atNanos = nanoTime.getAsLong() + (due.again ? 0 : (long) (intervalNanos * factor));
            due.again = false;
        }
    }

    /** Makes the poll due now, and again if it is in flight: its result may already be outdated. */
    void pollNow(K key) {
        DueTime due = polls.get(key);
        if (due != null) {
            due.again = due.waiting;
            due.atNanos = nanoTime.getAsLong();
        }
    }

    /** Whether each of these polls has had a result, and none is in flight or due. */
    boolean settled(Collection<K> keys) {
        long now = nanoTime.getAsLong();
        return keys.stream().map(polls::get).allMatch(due -> due != null && !due.waiting && now - due.atNanos < 0);
    }

    /** Removes all other polls. */
    void retain(Collection<K> keys) {
        polls.keySet().retainAll(keys);
    }
}
