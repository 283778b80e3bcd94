package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.AttemptTarget;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.TraceSpan;
import dev.isthmus.gateway.upstream.UpstreamFailures;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * What all calls to one cluster share.
 *
 * @param hedges null if no call is sent to a second server before the first one has failed
 * @param timeout of a call without a deadline of its own
 * @param attemptTimeout timeout of one attempt; null if only the call's timeout applies
 * @param nanoTime on the scale of {@link System#nanoTime()}
 */
record AttemptResources(
        UpstreamFailures failures,
        ReplicaSet replicas,
        RetryPolicy retryPolicy,
        RetryBudget budget,
        @Nullable HedgePolicy hedges,
        Duration timeout,
        @Nullable Duration attemptTimeout,
        ClusterMetrics metrics,
        LongSupplier nanoTime,
        RandomGenerator random) {
    private static final long BASE_BACKOFF_NANOS = TimeUnit.MILLISECONDS.toNanos(25);

    /** The timeout of one attempt; {@link Long#MAX_VALUE} if only the call's timeout applies. */
    long attemptTimeoutNanos() {
        return attemptTimeout == null ? Long.MAX_VALUE : attemptTimeout.toNanos();
    }

    /** The pause before the same server is tried again: it doubles with each attempt and is randomized by ±50 %. */
    long backoff(int attempts) {
        return (long) ((BASE_BACKOFF_NANOS << Math.min(attempts - 1, 10)) * (0.5 + random.nextDouble()));
    }

    /** Records that a request is sent to a server, and begins its span. */
    TraceSpan attempted(Call call, Replica replica, ModelRef model) {
        CallContext context = call.context();
        context.attempted(replica.label());
        TraceSpan span = context.span();
        return span == TraceSpan.NONE
                ? span
                : span.attempt(
                        call.operation(),
                        new AttemptTarget(
                                failures.upstream(),
                                replica.label(),
                                replica.server().peer().wire(),
                                model,
                                context.attempts()));
    }

    /** The failure of a call if no server is available. */
    OipException noServer() {
        return metrics.rejected(
                ClusterMetrics.Rejection.NO_SERVER, "has no available server", ClusterMetrics.RETRY_AFTER);
    }

    /** The failure of a call if all servers have as many calls as their adaptive limits allow. */
    OipException noRoom() {
        return metrics.rejected(
                ClusterMetrics.Rejection.ADAPTIVE_LIMIT,
                "has no server below its adaptive limit of concurrent calls (adaptive_concurrency)",
                ClusterMetrics.RETRY_AFTER);
    }
}
