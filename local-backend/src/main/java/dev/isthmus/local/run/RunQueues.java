package dev.isthmus.local.run;

import dev.isthmus.local.ort.OnnxModel;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.FailureCause;
import dev.isthmus.oip.OipException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The queued requests: one queue per model, with a common limit. Workers serve the models round-robin, one run at a
 * time, and skip those with all permits in use. While one model has all threads, one more run of another model may
 * start. If there are several models, one may use three quarters of the capacity left by the others, so that an idle
 * model can still queue requests. The lock is held only for queue operations, never during a run.
 */
final class RunQueues {
    private static final Duration RETRY_AFTER = Duration.ofSeconds(1);

    private final int capacity;
    private final int threads;
    private final Deadlines deadlines;
    private final Map<OnnxModel, ModelQueue> byModel = new ConcurrentHashMap<>();
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition work = lock.newCondition();
    private final ArrayDeque<ModelQueue> startable = new ArrayDeque<>();
    private int waiting;
    private int busy;
    private int idle;
    /** How many queues have as many runs as there are threads. */
    private int holders;

    private boolean closed;

    /**
     * @param capacity the maximum number of requests queued while all threads are busy
     * @param threads the number of runs at a time; there is a worker more
     */
    RunQueues(int capacity, int threads, Deadlines deadlines) {
        this.capacity = capacity;
        this.threads = threads;
        this.deadlines = deadlines;
    }

    Deadlines deadlines() {
        return deadlines;
    }

    /** @param model retained by the caller */
    ModelQueue of(OnnxModel model) {
        ModelQueue queue = byModel.get(model);
        if (queue == null) {
            byModel.keySet().removeIf(OnnxModel::closed);
            queue = byModel.computeIfAbsent(model, each -> new ModelQueue(this, each, threads));
        }
        return queue;
    }

    /** Whether there are several models. A closed one has no queued requests and never will. */
    private boolean several() {
        byModel.keySet().removeIf(OnnxModel::closed);
        return byModel.size() > 1;
    }

    /** @throws OipException OVERLOADED if the queue is full, UNAVAILABLE after closing */
    void add(ModelQueue queue, LocalRun run) {
        lock.lock();
        try {
            if (closed) {
                throw closing();
            }
            requireCapacity(queue);
            waiting++;
            queue.add(run);
            list(queue);
            wake();
        } finally {
            lock.unlock();
        }
    }

    /** The number of queued requests. */
    int waiting() {
        lock.lock();
        try {
            return waiting;
        } finally {
            lock.unlock();
        }
    }

    /** The number of threads that run a model. */
    int busy() {
        lock.lock();
        try {
            return busy;
        } finally {
            lock.unlock();
        }
    }

    static OipException closing() {
        return new OipException(ErrorCode.UNAVAILABLE, "the local backend is closing");
    }

    /** Each idle thread is about to take a request, which does not count against the capacity. */
    private void requireCapacity(ModelQueue queue) {
        int started = Math.max(threads - busy, free() && queue.running() < threads ? 1 : 0);
        int all = capacity + started;
        if (waiting >= all) {
            throw refused("the local backend: its queue of " + capacity + " requests is full");
        }
        int left = all - (waiting - queue.size());
        if (queue.size() >= left - left / 4 && several()) {
            throw refused(queue.name() + ": " + queue.size() + " requests are queued, its share of the local queue of "
                    + capacity);
        }
    }

    private static OipException refused(String message) {
        return OipException.refused(ErrorCode.OVERLOADED, message, RETRY_AFTER).because(FailureCause.QUEUE_FULL);
    }

    private void list(ModelQueue queue) {
        if (!queue.listed && queue.startable()) {
            queue.listed = true;
            startable.addLast(queue);
        }
    }

    private void wake() {
        if (idle > 0 && !startable.isEmpty() && free()) {
            work.signal();
        }
    }

    /** Whether one more run may start. */
    private boolean free() {
        return busy < threads || (busy == threads && holders > 0);
    }

    /** Removes a run; returns false if it is not queued any more. */
    boolean remove(ModelQueue queue, LocalRun run) {
        lock.lock();
        try {
            boolean there = queue.unlink(run);
            waiting -= there ? 1 : 0;
            return there;
        } finally {
            lock.unlock();
        }
    }

    /** Ends a queue's wait for a fuller batch. */
    void due(ModelQueue queue) {
        lock.lock();
        try {
            queue.due();
            list(queue);
            wake();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Waits for a run.
     *
     * @param done the queue of the caller's last run, which has ended; null before its first
     * @param into empty; receives one request, or several that share a run
     * @return the queue it was taken from; null after closing
     */
    @Nullable
    ModelQueue take(@Nullable ModelQueue done, List<LocalRun> into) {
        lock.lock();
        try {
            if (done != null) {
                busy--;
                holders -= done.running() == threads ? 1 : 0;
                done.runEnded();
                list(done);
            }
            ModelQueue next = next();
            while (next == null && !closed) {
                idle++;
                work.awaitUninterruptibly();
                idle--;
                next = next();
            }
            if (next != null) {
                busy++;
                next.take(into);
                waiting -= into.size();
                holders += next.running() == threads ? 1 : 0;
                list(next);
                wake();
            }
            return next;
        } finally {
            lock.unlock();
        }
    }

    /** The next queue, round-robin, that can start a run. */
    private @Nullable ModelQueue next() {
        ModelQueue next = free() ? startable.pollFirst() : null;
        while (next != null) {
            next.listed = false;
            if (next.startable()) {
                return next;
            }
            next = startable.pollFirst();
        }
        return null;
    }

    /** Rejects new requests and ends the workers. */
    void close() {
        lock.lock();
        try {
            closed = true;
            work.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Fails the queued requests of a model. */
    void drain(ModelQueue queue, OipException failure) {
        List<LocalRun> left = new ArrayList<>();
        lock.lock();
        try {
            queue.drain(left);
            waiting -= left.size();
        } finally {
            lock.unlock();
        }
        for (LocalRun run : left) {
            run.fail(failure);
            run.release();
        }
    }

    List<ModelQueue> all() {
        return List.copyOf(byModel.values());
    }

    /** The queue of a model; null if it had no request. */
    @Nullable
    ModelQueue find(OnnxModel model) {
        return byModel.get(model);
    }
}
