package dev.isthmus.gateway.console;

import dev.isthmus.gateway.metrics.CallMetrics;
import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.distribution.CountAtBucket;
import java.util.concurrent.TimeUnit;

/** What was counted of inferences since the start: of all, or of those of one model. Confined to one thread, then read. */
final class CallTotals {
    private static final int CLIENT_ERRORS = 400;
    private static final int SERVER_ERRORS = 500;
    private static final int CANCELLED = 499;
    private static final int BUCKETS = CallMetrics.buckets().size();

    private long calls;
    private long clientErrors;
    private long serverErrors;
    /** Calls that are timed: successful ones that are no streams. */
    private long timed;
    /** How many of them took at most as long as each bucket's bound. */
    private final long[] within = new long[BUCKETS];
    /** From the complete request to the first response. */
    private double waitSeconds;

    private long waits;

    /**
     * Adds the calls of a timer.
     *
     * @param status of their code; 200 for success
     * @param unary whether they are no streams, which last as long as their clients want
     */
    void add(Timer timer, int status, boolean unary) {
        long count = timer.count();
        calls += count;
        if (status >= SERVER_ERRORS) {
            serverErrors += count;
        } else if (status >= CLIENT_ERRORS && status != CANCELLED) {
            clientErrors += count;
        } else if (status < CLIENT_ERRORS && unary && count > 0) {
            timed += count;
            CountAtBucket[] buckets = timer.takeSnapshot().histogramCounts();
            for (int i = 0; i < Math.min(BUCKETS, buckets.length); i++) {
                within[i] += (long) buckets[i].count();
            }
        }
    }

    /** Adds the times from complete requests to first responses. */
    void addWaits(FunctionTimer phase) {
        waitSeconds += phase.totalTime(TimeUnit.SECONDS);
        waits += (long) phase.count();
    }

    void add(CallTotals other) {
        calls += other.calls;
        clientErrors += other.clientErrors;
        serverErrors += other.serverErrors;
        timed += other.timed;
        for (int i = 0; i < BUCKETS; i++) {
            within[i] += other.within[i];
        }
        addWaitsOf(other);
    }

    /** Adds only the times from complete requests to first responses. */
    void addWaitsOf(CallTotals other) {
        waitSeconds += other.waitSeconds;
        waits += other.waits;
    }

    long calls() {
        return calls;
    }

    long clientErrors() {
        return clientErrors;
    }

    long serverErrors() {
        return serverErrors;
    }

    double waitSeconds() {
        return waitSeconds;
    }

    long waits() {
        return waits;
    }

    /**
     * The duration in seconds that this share of the timed calls since an earlier reading did not exceed, interpolated
     * within its bucket as Prometheus does. NaN without calls; the largest bound if it is above that.
     */
    double percentile(CallTotals before, double share) {
        long all = timed - before.timed;
        if (all <= 0) {
            return Double.NaN;
        }
        double rank = share * all;
        double below = 0;
        double bound = 0;
        for (int i = 0; i < BUCKETS; i++) {
            double upper = CallMetrics.buckets().get(i).toNanos() / 1e9;
            double at = within[i] - before.within[i];
            if (at >= rank && at > below) {
                return bound + (upper - bound) * (rank - below) / (at - below);
            }
            below = Math.max(below, at);
            bound = upper;
        }
        return bound;
    }
}
