package dev.isthmus.gateway.console;

import dev.isthmus.gateway.metrics.CallMetrics;
import dev.isthmus.gateway.metrics.HistogramQuantile;
import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.distribution.CountAtBucket;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;

/**
 * What was counted since the start, or between two readings: of all inferences, or of those of one model, target, server
 * (attempts) or caller (calls of any kind). Confined to one thread, then read.
 */
final class CallTotals {
    private static final int CLIENT_ERRORS = 400;
    private static final int SERVER_ERRORS = 500;
    private static final int CANCELLED = 499;
    private static final int BUCKETS = CallMetrics.buckets().size();
    /** In seconds. */
    private static final double[] BOUNDS = CallMetrics.buckets().stream()
            .mapToDouble(bound -> bound.toNanos() / 1e9)
            .toArray();

    private long calls;
    private long clientErrors;
    private long serverErrors;
    /** Attempts at a server without a valid response; calls of a caller that ended with an error of any kind. */
    private long failed;
    /** Calls of a caller that a limit has refused. */
    private long limited;
    /** Calls that are timed: successful ones that are no streams. */
    private long timed;

    private double timedSeconds;
    /** Of the last minutes. */
    private double longestSeconds;
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
            timedSeconds += timer.totalTime(TimeUnit.SECONDS);
            longestSeconds = Math.max(longestSeconds, timer.max(TimeUnit.SECONDS));
            CountAtBucket[] buckets = timer.takeSnapshot().histogramCounts();
            for (int i = 0; i < Math.min(BUCKETS, buckets.length); i++) {
                within[i] += (long) buckets[i].count();
            }
        }
    }

    /**
     * Adds inferences that were sent to a target.
     *
     * @param outcome as the meter has it
     */
    void addTarget(long count, String outcome) {
        calls += count;
        switch (outcome) {
            case "client_error" -> clientErrors += count;
            case "server_error" -> serverErrors += count;
            default -> {}
        }
    }

    /** Adds durations of calls that are counted elsewhere. With other buckets a call counts for the next larger bound. */
    void addTimes(Timer timer) {
        timed += timer.count();
        timedSeconds += timer.totalTime(TimeUnit.SECONDS);
        longestSeconds = Math.max(longestSeconds, timer.max(TimeUnit.SECONDS));
        CountAtBucket[] buckets = timer.takeSnapshot().histogramCounts();
        int next = 0;
        for (int i = 0; i < BUCKETS; i++) {
            long bound = CallMetrics.buckets().get(i).toNanos();
            while (next < buckets.length && buckets[next].bucket(TimeUnit.NANOSECONDS) <= bound) {
                next++;
            }
            within[i] += next == 0 ? 0 : (long) buckets[next - 1].count();
        }
    }

    /**
     * Adds attempts at a server, but for those that were cancelled.
     *
     * @param outcome as the meter has it
     */
    void addAttempts(FunctionTimer attempts, String outcome) {
        if (!outcome.equals("cancelled")) {
            long count = (long) attempts.count();
            calls += count;
            switch (outcome) {
                case "failed" -> failed += count;
                case "error", "unavailable" -> serverErrors += count;
                default -> {}
            }
            addWaits(attempts);
        }
    }

    /** Adds calls of a caller. */
    void addCaller(long count, boolean error) {
        calls += count;
        failed += error ? count : 0;
    }

    /** Adds calls of a caller that a limit has refused; they are among its calls. */
    void addLimited(long count) {
        limited += count;
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
        failed += other.failed;
        limited += other.limited;
        timed += other.timed;
        timedSeconds += other.timedSeconds;
        longestSeconds = Math.max(longestSeconds, other.longestSeconds);
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

    /** What was counted since an earlier reading. A meter that was removed and added again begins at 0. */
    CallTotals since(CallTotals before) {
        CallTotals since = new CallTotals();
        since.calls = Math.max(0, calls - before.calls);
        since.clientErrors = Math.max(0, clientErrors - before.clientErrors);
        since.serverErrors = Math.max(0, serverErrors - before.serverErrors);
        since.failed = Math.max(0, failed - before.failed);
        since.limited = Math.max(0, limited - before.limited);
        since.timed = Math.max(0, timed - before.timed);
        since.timedSeconds = Math.max(0, timedSeconds - before.timedSeconds);
        since.longestSeconds = longestSeconds;
        for (int i = 0; i < BUCKETS; i++) {
            since.within[i] = Math.max(0, within[i] - before.within[i]);
        }
        since.waitSeconds = Math.max(0, waitSeconds - before.waitSeconds);
        since.waits = Math.max(0, waits - before.waits);
        return since;
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

    long failed() {
        return failed;
    }

    long limited() {
        return limited;
    }

    double waitSeconds() {
        return waitSeconds;
    }

    long waits() {
        return waits;
    }

    /**
     * The duration in seconds that this share of the timed calls did not exceed, by {@link HistogramQuantile}. NaN
     * without calls; the largest bound if it is above that.
     */
    double percentile(double share) {
        double[] counts = Arrays.stream(within).asDoubleStream().toArray();
        return HistogramQuantile.of(share, BOUNDS, counts, (double) timed, timedSeconds, longestSeconds);
    }
}
