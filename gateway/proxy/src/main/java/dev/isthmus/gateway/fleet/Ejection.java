package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.settings.UpstreamConfig.Outliers;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;

/**
 * Leaves a server out for a while because its calls fail. Used by all event loops; a lock is taken only where a server is
 * ejected, or recovers from it.
 */
final class Ejection {
    /** The most that an ejection grows to. */
    private static final int MAX_TIMES = 10;

    private final Outliers rules;
    private final Object lock;
    private final BooleanSupplier room;
    private final AtomicInteger failures = new AtomicInteger();
    private final AtomicInteger successes = new AtomicInteger();
    /** How often in a row; changed under the lock. */
    private volatile int times;

    private volatile boolean ejected;
    private volatile long until;
    private volatile long count;

    /**
     * Of a server that is not ejected.
     *
     * @param lock shared by the servers of a set
     * @param room whether one more server of the set may be ejected; asked under the lock
     */
    Ejection(Outliers rules, Object lock, BooleanSupplier room) {
        this.rules = rules;
        this.lock = lock;
        this.room = room;
    }

    /** Whether one more of these servers may be ejected. */
    static boolean room(List<Replica> replicas, Outliers rules, long now) {
        long ejected = replicas.stream()
                .filter(replica -> replica.ejection().ejected(now))
                .count();
        return replicas.size() > 1 && ejected < Math.max(1, (long) (rules.maxEjected() * replicas.size()));
    }

    boolean ejected(long now) {
        return ejected && until - now > 0;
    }

    /** How often it was. */
    long count() {
        return count;
    }

    /** When the last ejection ends, or ended. */
    long until() {
        return until;
    }

    /** As many successes in a row as it takes failures make up for one ejection. */
    void succeeded(long now) {
        if (failures.get() != 0) {
            failures.set(0);
        }
        if (times > 0 && successes.incrementAndGet() >= rules.consecutiveFailures()) {
            synchronized (lock) {
                successes.set(0);
                times = Math.max(0, times - 1);
                end(now);
            }
        }
    }

    /** Whether the server is ejected now, and was not before. */
    boolean failed(long now) {
        int limit = rules.consecutiveFailures();
        if (successes.get() != 0) {
            successes.set(0);
        }
        if (limit == 0 || failures.incrementAndGet() < limit || ejected(now)) {
            return false;
        }
        synchronized (lock) {
            if (ejected(now) || !room.getAsBoolean()) {
                return false;
            }
            times = Math.min(times + 1, MAX_TIMES);
            until = now + rules.ejection().toNanos() * times;
            ejected = true;
            count = count + 1;
            failures.set(0);
            return true;
        }
    }

    /** The server works again, as is known from elsewhere. */
    void lift(long now) {
        synchronized (lock) {
            end(now);
        }
    }

    private void end(long now) {
        failures.set(0);
        if (ejected(now)) {
            until = now;
        }
        ejected = false;
    }
}
