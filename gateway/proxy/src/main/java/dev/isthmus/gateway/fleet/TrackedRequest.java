package dev.isthmus.gateway.fleet;

import java.util.function.LongSupplier;

/** One request at one server, as the server's record and the metrics see it: its end is told once. Lives on the call's loop. */
final class TrackedRequest {
    private final Replica replica;
    private final ClusterMetrics metrics;
    private final LongSupplier nanoTime;
    private long start;
    private long nanos;
    private boolean answered;
    private boolean ended;

    /** The request goes out. */
    TrackedRequest(Replica replica, ClusterMetrics metrics, LongSupplier nanoTime) {
        this.replica = replica;
        this.metrics = metrics;
        this.nanoTime = nanoTime;
        this.start = nanoTime.getAsLong();
        replica.started();
    }

    /** The last part of the request goes out: the time before was the client's. */
    void sent() {
        start = nanoTime.getAsLong();
    }

    /** An answer has come; the first one counts. */
    void answer() {
        if (!answered) {
            answered = true;
            nanos = nanoTime.getAsLong() - start;
        }
    }

    boolean answered() {
        return answered;
    }

    void end(CallOutcome outcome) {
        end(outcome, false);
    }

    /** @param clientSends whether the request has not been sent, so that the time says nothing of the server */
    void end(CallOutcome outcome, boolean clientSends) {
        if (!ended) {
            ended = true;
            long unanswered = clientSends ? 0 : nanoTime.getAsLong() - start;
            long until = answered ? nanos : unanswered;
            replica.ended(outcome, until);
            metrics.tried(outcome, until);
        }
    }
}
