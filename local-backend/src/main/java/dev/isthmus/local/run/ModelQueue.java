package dev.isthmus.local.run;

import dev.isthmus.local.ort.OnnxModel;
import dev.isthmus.oip.OipException;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The queued requests of one model and the permits for its concurrent runs. Mutable state is guarded by the lock of
 * {@link RunQueues}.
 */
final class ModelQueue {
    /** The maximum queued requests examined for one batch. */
    private static final int LOOK_AHEAD = 1024;

    private final RunQueues all;
    private final OnnxModel model;
    private final @Nullable Batching batching;
    private final int permits;
    /** In order of arrival. */
    private final Set<LocalRun> waiting = new LinkedHashSet<>();

    private long rows;
    private int running;
    private Deadlines.@Nullable DeadlineTimer delay;
    private boolean due;
    private volatile @Nullable OipException ended;

    /** Whether it is in the list of queues that workers take from. */
    boolean listed;

    ModelQueue(RunQueues all, OnnxModel model, int threads) {
        this.all = all;
        this.model = model;
        this.batching = Batching.of(model);
        int instances = model.settings().instances();
        this.permits = instances > 0 ? Math.min(instances, threads) : threads;
    }

    OnnxModel model() {
        return model;
    }

    /** The number of runs that it may have at a time. */
    int permits() {
        return permits;
    }

    /** The number of its runs. */
    int running() {
        return running;
    }

    /** The failure of its runs from now on; null while there is none. Read without the lock. */
    @Nullable
    OipException ended() {
        return ended;
    }

    void end(OipException failure) {
        ended = failure;
    }

    /** The model's name for messages. */
    String name() {
        return "model '" + model.ref().name() + "'";
    }

    @Nullable
    Batching batching() {
        return batching;
    }

    Deadlines deadlines() {
        return all.deadlines();
    }

    int size() {
        return waiting.size();
    }

    /** Removes a run; returns false if it is not queued any more. */
    boolean remove(LocalRun run) {
        return all.remove(this, run);
    }

    void add(LocalRun run) {
        waiting.add(run);
        if (batching != null) {
            rows += batching.rows(run);
            awaitMore(batching);
        }
    }

    /** Removes a run; returns false if it is not queued any more. */
    boolean unlink(LocalRun run) {
        boolean queued = waiting.remove(run);
        rows -= batching == null || !queued ? 0 : batching.rows(run);
        return queued;
    }

    /** Whether a worker may start a run now. */
    boolean startable() {
        return !waiting.isEmpty()
                && running < permits
                && (batching == null || batching.delayNanos() == 0 || due || rows >= batching.maxRows());
    }

    /** Ends the wait for a fuller batch. */
    void due() {
        delay = null;
        due = !waiting.isEmpty();
    }

    /** Removes all runs. */
    void drain(List<LocalRun> into) {
        into.addAll(waiting);
        waiting.clear();
        rows = 0;
        stopWaiting();
    }

    /** Takes the oldest request, and those that may share its run. */
    void take(List<LocalRun> into) {
        running++;
        LocalRun head = waiting.iterator().next();
        unlink(head);
        into.add(head);
        if (batching != null) {
            join(head, batching, into);
            stopWaiting();
            awaitMore(batching);
        }
    }

    private void join(LocalRun head, Batching rules, List<LocalRun> into) {
        int capacity = rules.maxRows() - rules.rows(head);
        Iterator<LocalRun> others = waiting.iterator();
        for (int looked = 0; capacity > 0 && others.hasNext() && looked < LOOK_AHEAD; looked++) {
            LocalRun next = others.next();
            if (rules.rows(next) <= capacity && BatchKey.alike(head, next)) {
                others.remove();
                rows -= rules.rows(next);
                into.add(next);
                capacity -= rules.rows(next);
            }
        }
    }

    private void stopWaiting() {
        due = false;
        if (delay != null) {
            deadlines().cancel(delay);
            delay = null;
        }
    }

    /** The oldest request waits for a fuller batch, at most for the model's delay. */
    private void awaitMore(Batching rules) {
        if (rules.delayNanos() > 0 && !waiting.isEmpty() && delay == null && !due) {
            LocalRun oldest = waiting.iterator().next();
            delay = deadlines().set(oldest.submission().since() + rules.delayNanos(), () -> all.due(this));
        }
    }

    /** A run has ended; its permit is released. */
    void runEnded() {
        running--;
    }
}
