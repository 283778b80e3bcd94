package dev.isthmus.gateway.batching;

import dev.isthmus.oip.ModelRef;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/** The requests of a call that failed, each sent alone: if all succeed, the call failed because they were joined. */
final class SingleRequests {
    private final BatchedModel model;
    private final ModelRef ref;
    private final int joined;
    private final BatchingResources resources;
    private final AtomicInteger pending;
    private final AtomicBoolean failed = new AtomicBoolean();

    SingleRequests(BatchedModel model, ModelRef ref, int joined, BatchingResources resources) {
        this.model = model;
        this.ref = ref;
        this.joined = joined;
        this.resources = resources;
        this.pending = new AtomicInteger(joined);
    }

    /** One of them has ended. */
    void ended(boolean answered) {
        if (!answered) {
            failed.set(true);
        }
        if (pending.decrementAndGet() == 0 && !failed.get() && model.failedJoined(joined)) {
            resources.logRefused(ref, "its calls fail if requests are joined, and succeed if they are not");
        }
    }
}
