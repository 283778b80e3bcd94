package dev.isthmus.local.run;

import dev.isthmus.local.ort.RunHandle;
import dev.isthmus.oip.OipException;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One run of a model for one or several requests. It is terminated when none of them waits for it any more. It does not
 * use its handle after the run, because the worker reuses it for the next one.
 */
final class Execution {
    private final ModelQueue queue;
    private final List<LocalRun> requests;
    private @Nullable RunHandle handle;
    private int waiters = 1;
    private boolean terminated;
    private long terminatedNanos;

    /** @param handle borrowed until {@link #finish()} returns */
    Execution(ModelQueue queue, List<LocalRun> requests, RunHandle handle) {
        this.queue = queue;
        this.requests = requests;
        this.handle = handle;
    }

    /** Adds a request that waits for the outcome. */
    synchronized void join() {
        waiters++;
    }

    /** All requests have been added. */
    void allJoined() {
        leave();
    }

    /** Removes a request that no longer waits; terminates the run after the last one. */
    synchronized void leave() {
        waiters--;
        if (waiters == 0 && handle != null) {
            handle.terminate();
            terminated = true;
            terminatedNanos = System.nanoTime();
        }
    }

    /** Ends the run; returns whether its handle was terminated and must not be reused. */
    synchronized boolean finish() {
        handle = null;
        return terminated;
    }

    /** Whether it goes on although it was terminated that long ago. */
    synchronized boolean outlasts(Duration limit) {
        return handle != null && terminated && System.nanoTime() - terminatedNanos > limit.toNanos();
    }

    ModelQueue queue() {
        return queue;
    }

    /** Fails all requests if their queue has ended. */
    void failIfEnded() {
        OipException failure = queue.ended();
        if (failure != null) {
            requests.forEach(run -> run.fail(failure));
        }
    }
}
