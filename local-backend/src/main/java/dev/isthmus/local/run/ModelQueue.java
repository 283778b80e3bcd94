package dev.isthmus.local.run;

import dev.isthmus.local.ort.OnnxModel;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What waits for one model, and the model's permits: runs that may go on at once. All that changes is guarded by the lock of
 * {@link RunQueues}.
 */
final class ModelQueue {
    /** Runs that are looked at for one batch. */
    private static final int LOOK_AHEAD = 1024;

    private final RunQueues all;
    private final OnnxModel model;
    private final @Nullable Batching batching;
    private final int permits;
    private final RunList waiting = new RunList();
    private long rows;
    private int running;
    private Deadlines.@Nullable DeadlineTimer delay;
    private boolean due;

    /** Whether it is among those that a worker may take from. */
    boolean listed;

    ModelQueue(RunQueues all, OnnxModel model, int threads) {
        this.all = all;
        this.model = model;
        this.batching = Batching.of(model);
        int instances = model.settings().instances();
        this.permits = instances > 0 ? instances : threads;
    }

    OnnxModel model() {
        return model;
    }

    /** For messages. */
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

    /** Takes a run out; false where it is there no more. */
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

    void unlink(LocalRun run) {
        waiting.remove(run);
        rows -= batching == null ? 0 : batching.rows(run);
    }

    /** Whether a worker may begin a run now. */
    boolean startable() {
        return waiting.size() > 0
                && running < permits
                && (batching == null || batching.delayNanos() == 0 || due || rows >= batching.maxRows());
    }

    /** The wait for a fuller batch is over. */
    void due() {
        delay = null;
        due = waiting.size() > 0;
    }

    /** Takes all out. */
    void drain(List<LocalRun> into) {
        for (LocalRun run = waiting.first(); run != null; run = waiting.first()) {
            unlink(run);
            into.add(run);
        }
        stopWaiting();
    }

    /** Begins a run of the oldest request, and of those that may share it. */
    void take(List<LocalRun> into) {
        running++;
        LocalRun head = waiting.first();
        if (head == null) {
            throw new IllegalStateException(name() + ": nothing is queued");
        }
        unlink(head);
        into.add(head);
        if (batching != null) {
            join(head, batching, into);
            stopWaiting();
            awaitMore(batching);
        }
    }

    private void join(LocalRun head, Batching rules, List<LocalRun> into) {
        int room = rules.maxRows() - rules.rows(head);
        LocalRun next = waiting.first();
        for (int looked = 0; room > 0 && next != null && looked < LOOK_AHEAD; looked++) {
            LocalRun after = next.after;
            if (rules.rows(next) <= room && BatchKey.alike(head, next)) {
                unlink(next);
                into.add(next);
                room -= rules.rows(next);
            }
            next = after;
        }
    }

    private void stopWaiting() {
        due = false;
        if (delay != null) {
            deadlines().cancel(delay);
            delay = null;
        }
    }

    /** The oldest request waits for company, at most as long as the model says. */
    private void awaitMore(Batching rules) {
        LocalRun oldest = waiting.first();
        if (rules.delayNanos() > 0 && oldest != null && delay == null && !due) {
            delay = deadlines().set(oldest.order().since() + rules.delayNanos(), () -> all.due(this));
        }
    }

    /** A run is over. */
    void landed() {
        running--;
    }
}
