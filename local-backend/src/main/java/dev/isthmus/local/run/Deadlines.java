package dev.isthmus.local.run;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What is to happen at a time, unless it is cancelled before, which is the rule. Setting and cancelling are a few writes
 * under a lock: the thread, which looks through all that is set, is woken only for a time before the one it sleeps to, and
 * not when that one is cancelled. A scheduler's would be woken by every request that comes alone.
 */
final class Deadlines implements Runnable {
    private static final Logger LOG = LoggerFactory.getLogger(Deadlines.class);
    private static final long FOREVER = Long.MAX_VALUE;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition sooner = lock.newCondition();
    private final DeadlineTimer ring = new DeadlineTimer(0, () -> {});
    private boolean sleeping;
    private long wake;
    private boolean closed;

    /** One of them; its links are guarded by the lock. */
    static final class DeadlineTimer {
        private final long nanos;
        private final Runnable task;
        private DeadlineTimer before = this;
        private DeadlineTimer after = this;

        private DeadlineTimer(long nanos, Runnable task) {
            this.nanos = nanos;
            this.task = task;
        }

        void pass() {
            try {
                task.run();
            } catch (RuntimeException fault) {
                LOG.error("what a deadline ends did not end well", fault);
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
     * Sets one.
     *
     * @param nanos on the scale of {@link System#nanoTime()}
     * @param task short; runs on the thread of this
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

    /** Idempotent; nothing where its time has come. */
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

    /** Runs tasks at their times until it is closed. */
    @Override
    public void run() {
        List<DeadlineTimer> due = new ArrayList<>();
        while (await(due)) {
            due.forEach(DeadlineTimer::pass);
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

    /** Takes out those whose time has come; the nanoseconds until the next. Called with the lock held. */
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

    /** Forgets what is set, and ends the thread. */
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
