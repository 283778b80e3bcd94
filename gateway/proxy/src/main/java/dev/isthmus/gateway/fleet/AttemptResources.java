package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.upstream.UpstreamFailures;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * What all calls to one cluster share.
 *
 * @param timeout of a call without a deadline of its own
 * @param eachTry the time of one try; null for that of the call
 * @param nanoTime on the scale of {@link System#nanoTime()}
 */
record AttemptResources(
        UpstreamFailures failures,
        ReplicaSet replicas,
        RetryPolicy rules,
        RetryBudget budget,
        Duration timeout,
        @Nullable Duration eachTry,
        ClusterMetrics metrics,
        LongSupplier nanoTime,
        RandomGenerator random) {
    private static final long FIRST_PAUSE = TimeUnit.MILLISECONDS.toNanos(25);
    private static final Duration SOON = Duration.ofSeconds(1);

    /** The time of one try; {@link Long#MAX_VALUE} where only the call's counts. */
    long eachTryNanos() {
        return eachTry == null ? Long.MAX_VALUE : eachTry.toNanos();
    }

    /** How long to wait before the same server is tried once more: twice as long each time, give or take a half. */
    long pause(int tried) {
        return (long) ((FIRST_PAUSE << Math.min(tried - 1, 10)) * (0.5 + random.nextDouble()));
    }

    /** The failure of a call that no server takes. */
    OipException noServer() {
        metrics.rejected(ClusterMetrics.Rejection.NO_SERVER);
        return OipException.refused(
                        ErrorCode.UNAVAILABLE,
                        "upstream '" + failures.upstream() + "' has no server that takes calls",
                        SOON)
                .confidential();
    }
}
