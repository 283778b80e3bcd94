package dev.isthmus.local.run;

import java.util.ArrayList;
import java.util.List;
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
    private final DeadlineTimer ring = new DeadlineTimer(0, () -> {});
    private boolean sleeping;
    private long wake;
    private boolean closed;

    /** A timer; its links are guarded by the lock. */
    static final class DeadlineTimer {
        private final long nanos;
        private final Runnable task;
        private DeadlineTimer before = this;
        private DeadlineTimer after = this;

        private DeadlineTimer(long nanos, Runnable task) {
            this.nanos = nanos;
            this.task = task;
        }

        void expire() {
            try {
                task.run();
            } catch (RuntimeException fault) {
                LOG.atError()
                        .addMarker(REPEATS)
                        .setCause(fault)
                        .log("internal error in the task of a deadline; please report it");
            }
        }

        private void unlink() {
            before.after = after;
            after.before = before;
            before = this;
            after = this;
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
                next.before = ring.before;
                next.after = ring;
                ring.before.after = next;
                ring.before = next;
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
            deadline.unlink();
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
        DeadlineTimer each = ring.after;
        while (each != ring) {
            DeadlineTimer following = each.after;
            if (each.nanos - now <= 0) {
                each.unlink();
                due.add(each);
            } else {
                left = Math.min(left, each.nanos - now);
            }
            each = following;
        }
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
