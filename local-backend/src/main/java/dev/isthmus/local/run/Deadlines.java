package dev.isthmus.local.run;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.Marker;
import org.slf4j.MarkerFactory;

/**
 * Timers that are usually cancelled before they expire. Setting and cancelling are a few writes under a lock: the
 * thread, which scans all timers, is woken only for a timer earlier than the one it waits for, and not for a
 * cancellation. A scheduler's thread would be woken by every single request.
 */
final class Deadlines implements Runnable {
    private static final Logger LOG = LoggerFactory.getLogger(Deadlines.class);
    private static final Marker REPEATS = MarkerFactory.getMarker("repeats");
    private static final long FOREVER = Long.MAX_VALUE;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition sooner = lock.newCondition();
    /** Guarded by the lock, in the order in which they were set. */
    private final Set<DeadlineTimer> timers = new LinkedHashSet<>();

    private boolean sleeping;
    private long wake;
    private boolean closed;

    /** A timer; tasks are equal only if they are the same. */
    record DeadlineTimer(long nanos, Runnable task) {
        void expire() {
            try {
                task.run();
            } catch (Throwable fault) {
                LOG.atError()
                        .addMarker(REPEATS)
                        .setCause(fault)
                        .log("internal error in the task of a deadline; please report it");
            }
        }
    }

    /**
     * Sets a timer.
     *
     * @param nanos the time in {@link System#nanoTime()}
     * @param task a short task; runs on the timer thread
     */
    DeadlineTimer set(long nanos, Runnable task) {
        DeadlineTimer next = new DeadlineTimer(nanos, task);
        lock.lock();
        try {
            if (!closed) {
                timers.add(next);
                if (!sleeping || nanos - wake < 0) {
                    sooner.signal();
                }
            }
        } finally {
            lock.unlock();
        }
        return next;
    }

    /** Cancels a timer; no effect if it has expired. Idempotent. */
    void cancel(@Nullable DeadlineTimer deadline) {
        if (deadline == null) {
            return;
        }
        lock.lock();
        try {
            timers.remove(deadline);
        } finally {
            lock.unlock();
        }
    }

    /** Runs the tasks of expired timers until it is closed. */
    @Override
    public void run() {
        List<DeadlineTimer> due = new ArrayList<>();
        while (await(due)) {
            due.forEach(DeadlineTimer::expire);
            due.clear();
        }
    }

    private boolean await(List<DeadlineTimer> due) {
        lock.lock();
        try {
            long left = collect(System.nanoTime(), due);
            while (!closed && due.isEmpty()) {
                wake = System.nanoTime() + left;
                sleeping = left < FOREVER;
                sooner.awaitNanos(left);
                sleeping = false;
                left = collect(System.nanoTime(), due);
            }
            return !closed;
        } catch (InterruptedException end) {
            Thread.currentThread().interrupt();
            return false;
        } finally {
            lock.unlock();
        }
    }

    /** Removes the expired timers; returns the nanoseconds until the next one expires. Called with the lock held. */
    long collect(long now, List<DeadlineTimer> due) {
        long left = FOREVER;
        for (DeadlineTimer each : timers) {
            if (each.nanos - now <= 0) {
                due.add(each);
            } else {
                left = Math.min(left, each.nanos - now);
            }
        }
        due.forEach(timers::remove);
        return left;
    }

    /** Drops all timers and ends the thread. */
    void close() {
        lock.lock();
        try {
            closed = true;
            sooner.signal();
        } finally {
            lock.unlock();
        }
    }
}
