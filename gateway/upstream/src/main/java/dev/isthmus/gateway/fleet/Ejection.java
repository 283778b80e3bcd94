package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.settings.UpstreamConfig.Outliers;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;

/**
 * The ejection of one server: it is left out for a while because its calls fail, several in a row, or too many in an
 * interval. Thread-safe; locks only when the server is ejected or recovers.
 */
final class Ejection {
    /** The largest multiple of the base ejection time. */
    private static final int MAX_MULTIPLIER = 10;

    private final Outliers rules;
    private final Object lock;
    private final BooleanSupplier mayEject;
    private final AtomicInteger failures = new AtomicInteger();
    private final AtomicInteger successes = new AtomicInteger();
    /** Consecutive ejections, bounded; written under the lock. */
    private volatile int multiplier;
    /** Whether the last ejection was due to the share of failed calls; written under the lock. */
    private volatile boolean forErrorRate;

    private volatile boolean ejected;
    private volatile long until;
    private volatile long count;

    /**
     * Of a server that is not ejected.
     *
     * @param lock shared by the servers of a set
     * @param mayEject whether one more server of the set may be ejected; called under the lock
     */
    Ejection(Outliers rules, Object lock, BooleanSupplier mayEject) {
        this.rules = rules;
        this.lock = lock;
        this.mayEject = mayEject;
    }

    /** Whether one more of these servers may be ejected. */
    static boolean mayEject(List<Replica> replicas, Outliers rules, long now) {
        long ejected = replicas.stream()
                .filter(replica -> replica.ejection().ejected(now))
                .count();
        return replicas.size() > 1 && ejected < Math.max(1, (long) (rules.maxEjected() * replicas.size()));
    }

    boolean ejected(long now) {
        return ejected && until - now > 0;
    }

    /** The number of ejections so far. */
    long count() {
        return count;
    }

    /** When the last ejection ends or ended. */
    long until() {
        return until;
    }

    /**
     * Records a success. As many consecutive successes as failures that eject undo one ejection, unless it was due to
     * the share of failed calls: some succeed then, too.
     */
    void succeeded(long now) {
        if (failures.get() != 0) {
            failures.set(0);
        }
        if (multiplier > 0 && !forErrorRate && successes.incrementAndGet() >= rules.consecutiveFailures()) {
            synchronized (lock) {
                successes.set(0);
                multiplier = Math.max(0, multiplier - 1);
                end(now);
            }
        }
    }

    /** Records that a response ended a row of failures or of successes. */
    void interrupted() {
        if (failures.get() != 0) {
            failures.set(0);
        }
        if (successes.get() != 0) {
            successes.set(0);
        }
    }

    /** Records a failure; true if it ejected the server. */
    boolean failed(long now) {
        int limit = rules.consecutiveFailures();
        if (successes.get() != 0) {
            successes.set(0);
        }
        if (limit == 0 || failures.incrementAndGet() < limit || ejected(now)) {
            return false;
        }
        return eject(now, false);
    }

    /** Records that too many of its calls failed in an interval; true if that ejected the server. */
    boolean failedTooOften(long now) {
        return eject(now, true);
    }

    /** Records an interval in which not too many of its calls failed; it undoes one ejection that was due to that. */
    void passedInterval(long now) {
        if (forErrorRate && multiplier > 0 && !ejected(now)) {
            synchronized (lock) {
                multiplier = Math.max(0, multiplier - 1);
            }
        }
    }

    private boolean eject(long now, boolean errorRate) {
        synchronized (lock) {
            if (ejected(now) || !mayEject.getAsBoolean()) {
                return false;
            }
            forErrorRate = errorRate;
            multiplier = Math.min(multiplier + 1, MAX_MULTIPLIER);
            until = now + rules.ejection().toNanos() * multiplier;
            ejected = true;
            count = count + 1;
            failures.set(0);
            return true;
        }
    }

    /** Ends the ejection: another source reports that the server works again. */
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
