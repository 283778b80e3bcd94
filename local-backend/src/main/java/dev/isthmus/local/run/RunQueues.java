package dev.isthmus.local.run;

import dev.isthmus.local.ort.OnnxModel;
import dev.isthmus.oip.ErrorCode;
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
 * What waits for a worker: a queue for each model, bounded together. Workers take from the models in turn, one run each
 * time, and pass over those that have all permits in use. A model may take three quarters of the places that the others
 * leave, so that there is room for a model that was idle; the only model takes all. The lock is held for the moves of
 * queues, never during a run.
 */
final class RunQueues {
    private static final Duration SOON = Duration.ofSeconds(1);

    private final int places;
    private final int threads;
    private final Deadlines deadlines;
    private final Map<OnnxModel, ModelQueue> byModel = new ConcurrentHashMap<>();
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition work = lock.newCondition();
    private final ArrayDeque<ModelQueue> startable = new ArrayDeque<>();
    private int waiting;
    private int busy;
    private int idle;
    private boolean closed;

    /** @param places of requests that wait while all threads are busy */
    RunQueues(int places, int threads, Deadlines deadlines) {
        this.places = places;
        this.threads = threads;
        this.deadlines = deadlines;
    }

    Deadlines deadlines() {
        return deadlines;
    }

    /** @param model in use by the caller */
    ModelQueue of(OnnxModel model) {
        ModelQueue queue = byModel.get(model);
        if (queue == null) {
            forgetUnloaded();
            queue = byModel.computeIfAbsent(model, each -> new ModelQueue(this, each, threads));
        }
        return queue;
    }

    /** A model whose last use is over has nothing queued and never will. */
    private void forgetUnloaded() {
        byModel.keySet().removeIf(model -> {
            boolean inUse = model.retain();
            if (inUse) {
                model.release();
            }
            return !inUse;
        });
    }

    /** @throws OipException OVERLOADED where there is no room, UNAVAILABLE after closing */
    void add(ModelQueue queue, LocalRun run) {
        lock.lock();
        try {
            if (closed) {
                throw closing();
            }
            requireRoom(queue);
            waiting++;
            queue.add(run);
            list(queue);
        } finally {
            lock.unlock();
        }
    }

    static OipException closing() {
        return new OipException(ErrorCode.UNAVAILABLE, "the local backend is closing");
    }

    /** A thread that is not busy has its next request as good as taken: that needs no place. */
    private void requireRoom(ModelQueue queue) {
        int all = places + threads - busy;
        if (waiting >= all) {
            throw refused("the local backend: its queue of " + places + " requests is full");
        }
        int left = all - (waiting - queue.size());
        if (byModel.size() > 1 && queue.size() >= left - left / 4) {
            throw refused(queue.name() + ": " + queue.size() + " of its requests wait, its share of the local queue of "
                    + places);
        }
    }

    private static OipException refused(String message) {
        return OipException.refused(ErrorCode.OVERLOADED, message, SOON);
    }

    private void list(ModelQueue queue) {
        if (!queue.listed && queue.startable()) {
            queue.listed = true;
            startable.addLast(queue);
        }
        if (idle > 0 && queue.listed) {
            work.signal();
        }
    }

    /** Takes a run out; false where it is there no more. */
    boolean remove(ModelQueue queue, LocalRun run) {
        lock.lock();
        try {
            boolean there = run.queued;
            if (there) {
                queue.unlink(run);
                waiting--;
            }
            return there;
        } finally {
            lock.unlock();
        }
    }

    /** The oldest request of a queue has waited long enough for others. */
    void due(ModelQueue queue) {
        lock.lock();
        try {
            queue.due();
            list(queue);
        } finally {
            lock.unlock();
        }
    }

    /**
     * Waits for something to run.
     *
     * @param done where the caller's last run was from; null before its first
     * @param into empty; gets one request, or several that share a run
     * @return where it is from; null when there is nothing any more
     */
    @Nullable
    ModelQueue take(@Nullable ModelQueue done, List<LocalRun> into) {
        lock.lock();
        try {
            if (done != null) {
                busy--;
                done.landed();
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
                list(next);
            }
            return next;
        } finally {
            lock.unlock();
        }
    }

    /** The next in turn that still may begin a run. */
    private @Nullable ModelQueue next() {
        ModelQueue next = startable.pollFirst();
        while (next != null) {
            next.listed = false;
            if (next.startable()) {
                return next;
            }
            next = startable.pollFirst();
        }
        return null;
    }

    /** Takes nothing any more, and lets the workers go. The requests that were queued are the caller's. */
    List<LocalRun> close() {
        List<LocalRun> left = new ArrayList<>();
        lock.lock();
        try {
            closed = true;
            for (ModelQueue queue : byModel.values()) {
                queue.drain(left);
            }
            waiting = 0;
            work.signalAll();
        } finally {
            lock.unlock();
        }
        return left;
    }
}
