package dev.isthmus.gateway.batching;

import dev.isthmus.gateway.batching.RouteBatching.BatchingResources;
import dev.isthmus.gateway.settings.BatchingConfig;
import dev.isthmus.oip.ModelRef;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One model of one upstream: the requests that wait to be joined, and how many calls are under way. A request is sent at
 * once if no other one is; those that come meanwhile wait until the last call has ended, the batch is full, or they have
 * waited long enough. Thread-safe; holds its lock for a few instructions only.
 */
final class BatchedModel {
    private static final Logger LOG = LoggerFactory.getLogger(BatchedModel.class);

    private final ModelRef model;
    private final BatchingConfig configured;
    private final BatchingResources resources;
    private final LongSupplier nanoTime;
    private final Map<JoinKey, JoinedBatch> open = new HashMap<>();
    /** As configured, with no more rows than the servers take. */
    private volatile BatchingConfig bounds;

    private BatchLimit limit;
    /** Whether the servers were asked how many rows they take. */
    private volatile boolean asked;

    private int calls;
    private int requests;
    private volatile boolean refused;

    BatchedModel(ModelRef model, BatchingConfig configured, BatchingResources resources, LongSupplier nanoTime) {
        this.model = model;
        this.configured = configured;
        this.resources = resources;
        this.bounds = configured;
        this.nanoTime = nanoTime;
        this.limit = new BatchLimit(configured.maxBatchSize(), nanoTime.getAsLong());
    }

    /** Whether the servers were asked how many rows they take, since their models changed. */
    boolean wasAsked() {
        return asked;
    }

    /** Whether the servers are to be asked now: once there is something to join, or if nothing was joined so far. */
    synchronized boolean asks() {
        if (asked || (calls == 0 && bounds.maxBatchSize() > 1)) {
            return false;
        }
        asked = true;
        return true;
    }

    /** Its servers have changed: they are asked again. */
    void forget() {
        asked = false;
    }

    /**
     * The servers take this many rows in a call.
     *
     * @param most 0 if the model does not batch
     */
    synchronized void takes(int most) {
        int rows = Math.min(configured.maxBatchSize(), Math.max(1, most));
        BatchingConfig now = new BatchingConfig(rows, configured.maxQueueDelayMicroseconds(), configured.maxBytes());
        if (!now.equals(bounds)) {
            bounds = now;
            limit = new BatchLimit(rows, nanoTime.getAsLong());
        }
    }

    /** Begins a call of one request that need not wait; null if others are under way. */
    synchronized @Nullable SentCall beginAlone() {
        return calls == 0 || isRefused() || limit.requests() == 1 ? begin(1) : null;
    }

    /** Begins a call with this many requests. */
    synchronized SentCall begin(int joined) {
        calls++;
        requests += joined;
        return new SentCall(joined, nanoTime.getAsLong(), requests);
    }

    /**
     * Adds a request to the batch of its kind, or opens one on the request's event loop.
     *
     * @param member what it waits for is taken
     * @return the batches that are complete thereby
     */
    synchronized List<JoinedBatch> join(BatchMember member, JoinableRequest request) {
        List<JoinedBatch> complete = new ArrayList<>(1);
        JoinedBatch batch = open.get(request.key());
        if (batch != null && !batch.fits(request, bounds)) {
            close(batch);
            complete.add(batch);
            batch = null;
        }
        if (batch == null) {
            batch = new JoinedBatch(this, request.key(), member);
            open.put(request.key(), batch);
        }
        batch.add(member, request);
        if (batch.size() >= limit.requests() || batch.isFull(bounds)) {
            close(batch);
            complete.add(batch);
        }
        return complete;
    }

    /** The batch has waited long enough. Returns whether it is to be sent. */
    synchronized boolean close(JoinedBatch batch) {
        boolean waits = open.remove(batch.key(), batch);
        if (waits) {
            batch.closed(begin(batch.size()));
        }
        return waits;
    }

    /**
     * The client of a request has gone, or its deadline has passed.
     *
     * @return whether it was waiting; it is then not in the batch any more
     */
    synchronized boolean leave(JoinedBatch batch, BatchMember member) {
        if (open.get(batch.key()) != batch) {
            return false;
        }
        batch.remove(member);
        if (batch.size() == 0) {
            open.remove(batch.key());
        }
        return true;
    }

    /**
     * A call has ended.
     *
     * @param answered whether its time counts
     */
    void end(SentCall call, boolean answered) {
        ended(call, answered).forEach(JoinedBatch::start);
    }

    private synchronized List<JoinedBatch> ended(SentCall call, boolean answered) {
        if (call.ended) {
            return List.of();
        }
        call.ended = true;
        if (answered) {
            long now = nanoTime.getAsLong();
            limit.answered(call.requests, (call.atServer + requests) / 2.0, now - call.startNanos, now);
        }
        calls--;
        requests -= call.requests;
        List<JoinedBatch> complete = calls == 0 ? List.copyOf(open.values()) : List.of();
        complete.forEach(this::close);
        return complete;
    }

    /** Whether requests are not joined: their calls fail, or the servers take one row at a time. */
    boolean isRefused() {
        return refused || bounds.maxBatchSize() < 2;
    }

    /** A response did not have a row for each row: requests are not joined any more. */
    void withoutRows() {
        resources.meters().withoutRows();
        refuse("its outputs do not have a row for each row of its inputs");
    }

    /** Requests are not joined any more, which is logged once. */
    private void refuse(String why) {
        boolean first;
        synchronized (this) {
            first = !refused;
            refused = true;
        }
        if (first) {
            LOG.atWarn()
                    .addKeyValue("model", model.name())
                    .log(
                            "model '{}': batching: {}; its requests are not joined until the configuration is applied again;"
                                    + " remove 'batching' from '{}'",
                            model.name(),
                            why,
                            resources.route());
        }
    }

    /** A call with this many requests failed, and each of them succeeded alone. */
    void failedJoined(int joined) {
        if (lower(joined)) {
            refuse("its calls fail if requests are joined, and succeed if they are not");
        }
    }

    private synchronized boolean lower(int joined) {
        if (joined > bounds.maxBatchSize()) {
            // It was sent before it was known how many the servers take.
            return false;
        }
        // The servers may have loaded another configuration.
        forget();
        return limit.failed(joined);
    }

    /** How many requests are joined at most now. */
    synchronized int limit() {
        return isRefused() ? 1 : limit.requests();
    }

    /** Whether no call is under way; nothing waits then. */
    synchronized boolean isIdle() {
        return calls == 0;
    }

    /** On the scale of {@link System#nanoTime()}. */
    long now() {
        return nanoTime.getAsLong();
    }

    BatchingResources resources() {
        return resources;
    }

    BatchingConfig bounds() {
        return bounds;
    }

    /** A call at the server. Guarded by its {@link BatchedModel}. */
    static final class SentCall {
        final int requests;
        final long startNanos;
        /** The requests of the model that were at the server when it was sent, with its own. */
        final int atServer;

        boolean ended;

        SentCall(int requests, long startNanos, int atServer) {
            this.requests = requests;
            this.startNanos = startNanos;
            this.atServer = atServer;
        }
    }
}
