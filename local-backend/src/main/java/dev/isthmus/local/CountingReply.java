package dev.isthmus.local;

import dev.isthmus.local.call.InferCallback;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.OipException;

/** Counts a request's outcome and forwards it. Used by one thread at a time. */
final class CountingReply implements InferCallback {
    private final InferCallback callback;
    private final ModelCounts counts;
    private final long rows;
    private final long arrived = System.nanoTime();
    private long started = arrived;

    CountingReply(InferCallback callback, ModelCounts counts, long rows) {
        this.callback = callback;
        this.counts = counts;
        this.rows = rows;
    }

    @Override
    public void started(boolean first) {
        started = System.nanoTime();
        counts.started(first, started - arrived);
        callback.started(first);
    }

    @Override
    public void done(InferResponse response) {
        long now = System.nanoTime();
        counts.succeeded(rows, now - arrived, now - started);
        callback.done(response);
    }

    @Override
    public void failed(OipException failure) {
        counts.failed(System.nanoTime() - arrived);
        callback.failed(failure);
    }
}
