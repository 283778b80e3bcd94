package dev.isthmus.gateway.catalogue;

import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;

/**
 * When each of some questions is to be asked again: a period after its last answer, a tenth more or less, so that questions
 * spread out. Used on one loop.
 *
 * @param <K> names a question
 */
final class PollSchedule<K> {
    private static final double JITTER = 0.1;

    private final long periodNanos;
    private final LongSupplier nanoTime;
    private final RandomGenerator random;
    private final Map<K, DueTime> questions = new HashMap<>();

    private static final class DueTime {
        private boolean waiting;
        private boolean again;
        private long atNanos;
    }

    PollSchedule(Duration period, LongSupplier nanoTime, RandomGenerator random) {
        this.periodNanos = period.toNanos();
        this.nanoTime = nanoTime;
        this.random = random;
    }

    /** Whether the question is to be asked now; it is under way then, until {@link #ended}. */
    boolean begin(K key) {
        DueTime due = questions.get(key);
        if (due == null) {
            due = new DueTime();
            questions.put(key, due);
        } else if (due.waiting || nanoTime.getAsLong() - due.atNanos < 0) {
            return false;
        }
        due.waiting = true;
        return true;
    }

    void ended(K key) {
        DueTime due = questions.get(key);
        if (due != null) {
            due.waiting = false;
            double factor = 1 - JITTER + 2 * JITTER * random.nextDouble();
            due.atNanos = nanoTime.getAsLong() + (due.again ? 0 : (long) (periodNanos * factor));
            due.again = false;
        }
    }

    /** Is to be asked as soon as can be, and once more where it is under way: what it asks for may have changed since. */
    void hurry(K key) {
        DueTime due = questions.get(key);
        if (due != null) {
            due.again = due.waiting;
            due.atNanos = nanoTime.getAsLong();
        }
    }

    /** Forgets all others. */
    void retain(Collection<K> keys) {
        questions.keySet().retainAll(keys);
    }
}
