package dev.isthmus.gateway.fleet;

import java.util.function.LongSupplier;

/**
 * Records one request at one server in the replica's state and in the metrics; its end is recorded once. Used on the
 * call's loop.
 */
final class TrackedRequest {
    private final Replica replica;
    private final ClusterMetrics metrics;
    private final LongSupplier nanoTime;
    private long start;
    private long nanos;
    private boolean hasResponse;
    private boolean ended;

    /** Records the start of the request. */
    TrackedRequest(Replica replica, ClusterMetrics metrics, LongSupplier nanoTime) {
        this.replica = replica;
        this.metrics = metrics;
        this.nanoTime = nanoTime;
        this.start = nanoTime.getAsLong();
        replica.started();
    }

    /** The last part of the request is sent: the time before was the client's. */
    void sent() {
        start = nanoTime.getAsLong();
    }

    /** A response message has arrived; only the first one counts. */
    void responded() {
        if (!hasResponse) {
            hasResponse = true;
            nanos = nanoTime.getAsLong() - start;
        }
    }

    boolean hasResponse() {
        return hasResponse;
    }

    void end(CallOutcome outcome) {
        end(outcome, false);
    }

    /**
     * @param clientSends whether the request was not sent completely, so that its duration is no measure of the server
     */
    void end(CallOutcome outcome, boolean clientSends) {
        if (!ended) {
            ended = true;
            long elapsed = clientSends ? 0 : nanoTime.getAsLong() - start;
            long latency = hasResponse ? nanos : elapsed;
            replica.ended(outcome, latency);
            metrics.attempted(outcome, latency);
        }
    }
}
