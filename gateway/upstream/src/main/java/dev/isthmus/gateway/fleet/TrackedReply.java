package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.ForwardingReply;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.TraceSpan;
import dev.isthmus.gateway.fleet.Cluster.AttemptResources;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import org.jspecify.annotations.Nullable;

/**
 * The reply to one request at one server, which records the request in the replica's state, in the metrics and in its
 * span; its end is recorded once. Used on the call's loop.
 */
abstract class TrackedReply extends ForwardingReply {
    private final AttemptResources shared;
    private final Replica replica;
    private final TraceSpan span;
    private final boolean bound;
    private long start;
    /** Until the response or, without one, the end. */
    private long nanos;

    private boolean hasResponse;
    private boolean ended;

    /**
     * Records the start of the request, which is now.
     *
     * @param bound whether the call's affinity decides which server gets it
     */
    TrackedReply(AttemptResources shared, Replica replica, TraceSpan span, Reply client, long now, boolean bound) {
        super(client);
        this.shared = shared;
        this.replica = replica;
        this.span = span;
        this.bound = bound;
        this.start = now;
        replica.started();
    }

    /** The last part of the request is sent: the time before was the client's. */
    final void sent() {
        start = shared.nanoTime().getAsLong();
    }

    /** A response message has arrived; only the first one counts. */
    final void responded() {
        if (!hasResponse) {
            hasResponse = true;
            nanos = elapsed();
        }
    }

    private long elapsed() {
        return shared.nanoTime().getAsLong() - start;
    }

    final Replica replica() {
        return replica;
    }

    /** A request within it, which is a stream, has ended. */
    final void streamed(CallOutcome outcome, long took) {
        replica.counts().streamed(outcome, took);
        shared.metrics().attempted(outcome, took, span);
    }

    /** The server has answered a request for this model with a failure. */
    final void answered(ModelRef model, OipException failure) {
        shared.replicas().answered(replica, model, failure);
    }

    final long startNanos() {
        return start;
    }

    /** From the start to the first response or, without one, to the end; known once the request has ended. */
    final long latencyNanos() {
        return nanos;
    }

    final boolean hasResponse() {
        return hasResponse;
    }

    final boolean ended() {
        return ended;
    }

    /** Whether the request was not sent completely, so that its duration is no measure of the server. */
    boolean clientSends() {
        return false;
    }

    /**
     * The request, which must not have ended yet, has ended.
     *
     * @param failure null if it has not failed, or was cancelled
     */
    void end(CallOutcome outcome, @Nullable OipException failure) {
        ended = true;
        if (!hasResponse) {
            nanos = clientSends() ? 0 : elapsed();
        }
        replica.ended(outcome, nanos, bound);
        shared.metrics().attempted(outcome, nanos, span);
        if (failure != null) {
            span.ended(failure.code(), failure.message());
        } else if (outcome == CallOutcome.CANCELLED) {
            span.ended(ErrorCode.CANCELLED, "the gateway cancelled the attempt");
        } else {
            span.ended(null, "");
        }
    }
}
