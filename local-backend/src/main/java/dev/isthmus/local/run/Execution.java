package dev.isthmus.local.run;

import dev.isthmus.local.ort.RunHandle;
import dev.isthmus.oip.OipException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One run of a model and the requests that it is for. It is ended early when none of them waits for it any more, and never
 * touches its handle once it has landed: the worker uses that for its next run.
 */
final class Execution {
    private final List<LocalRun> passengers;
    private @Nullable RunHandle handle;
    private int awaiting = 1;
    private boolean terminated;

    /** @param handle borrowed until {@link #land()} */
    Execution(List<LocalRun> passengers, RunHandle handle) {
        this.passengers = passengers;
        this.handle = handle;
    }

    /** One more waits for the outcome. */
    synchronized void board() {
        awaiting++;
    }

    /** All who come are on board. */
    void depart() {
        leave();
    }

    /** One less waits for the outcome. */
    synchronized void leave() {
        awaiting--;
        if (awaiting == 0 && handle != null) {
            handle.terminate();
            terminated = true;
        }
    }

    /** The run is over; whether its handle was used to end it. */
    synchronized boolean land() {
        handle = null;
        return terminated;
    }

    /** Ends it for everybody. */
    void abandon(OipException failure) {
        passengers.forEach(run -> run.fail(failure));
    }
}
