package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.TraceSpan;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Records one request at one server in the replica's state and in the metrics; its end is recorded once. Used on the
 * call's loop.
 */
final class TrackedRequest {
    private final Replica replica;
    private final ClusterMetrics metrics;
    private final LongSupplier nanoTime;
    private final TraceSpan span;
    private long start;
    private long nanos;
    private boolean hasResponse;
    private boolean ended;

    /** Records the start of the request. */
    TrackedRequest(Replica replica, ClusterMetrics metrics, LongSupplier nanoTime, TraceSpan span) {
        this.replica = replica;
        this.metrics = metrics;
        this.nanoTime = nanoTime;
        this.span = span;
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

    /**
     * The request has ended; only the first call has an effect.
     *
     * @param failure null if it has not failed, or was cancelled
     * @param clientSends whether the request was not sent completely, so that its duration is no measure of the server
     */
    void end(CallOutcome outcome, @Nullable OipException failure, boolean clientSends) {
        if (!ended) {
            ended = true;
            long elapsed = clientSends ? 0 : nanoTime.getAsLong() - start;
            long latency = hasResponse ? nanos : elapsed;
            replica.ended(outcome, latency);
            metrics.attempted(outcome, latency, span);
            if (failure != null) {
                span.ended(failure.code(), failure.message());
            } else if (outcome == CallOutcome.CANCELLED) {
                span.ended(ErrorCode.CANCELLED, "the gateway cancelled the attempt");
            } else {
                span.ended(null, "");
            }
        }
    }
}
