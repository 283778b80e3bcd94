package dev.isthmus.gateway.console;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.metrics.CallMetrics;
import dev.isthmus.gateway.metrics.HistogramQuantile;
import dev.isthmus.oip.ErrorCode;
import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.distribution.CountAtBucket;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * What was counted since the start, or between two readings: of all inferences, or of those of one model, target, server
 * (attempts) or caller (calls of any kind). Confined to one thread, then read.
 */
public final class CallTotals {
    private static final int SERVER_ERRORS = 500;
    private static final int BUCKETS = CallMetrics.BUCKETS.size();
    /** In seconds. */
    private static final double[] BOUNDS = CallMetrics.BUCKETS.stream()
            .mapToDouble(bound -> bound.toNanos() / 1e9)
            .toArray();

    private long calls;
    private long clientErrors;
    private long serverErrors;
    /** Those of a model with a status of 500 or more, by error. Most models have none. */
    private Map<ErrorCode, Long> failures = Map.of();
    /** Attempts at a server without a valid response; calls of a caller that ended with an error of any kind. */
    private long failed;
    /** Calls that a limit of theirs has refused. */
    private long limited;
    /** Calls that are timed: successful ones that are no streams; of a server, attempts with a good response. */
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
     * @param code OK for success
     * @param unary whether they are no streams, which last as long as their clients want
     */
    void add(Timer timer, String code, boolean unary) {
        long count = timer.count();
        calls += count;
        if (count == 0) {
            return;
        }
        if (code.equals("OK")) {
            if (unary) {
                addTimes(timer);
            }
            return;
        }
        ErrorCode error = ErrorCode.valueOf(code);
        if (error.httpStatus() >= SERVER_ERRORS) {
            serverErrors += count;
            addFailures(Map.of(error, count));
        } else if (error != ErrorCode.CANCELLED) {
            clientErrors += count;
            limited += error == ErrorCode.RESOURCE_EXHAUSTED ? count : 0;
        }
    }

    private void addFailures(Map<ErrorCode, Long> more) {
        if (failures.isEmpty() && !more.isEmpty()) {
            failures = new EnumMap<>(ErrorCode.class);
        }
        more.forEach((code, count) -> failures.merge(code, count, Long::sum));
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
            long bound = CallMetrics.BUCKETS.get(i).toNanos();
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
                default -> {
                    timed += count;
                    timedSeconds += attempts.totalTime(TimeUnit.SECONDS);
                }
            }
            addWaits(attempts);
        }
    }

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

    public void add(CallTotals other) {
        calls += other.calls;
        addFailures(other.failures);
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

    /** What was counted since an earlier reading; all if it was more then, since the meters have begun at 0 again. */
    public CallTotals grownSince(@Nullable CallTotals before) {
        return before == null || before.calls > calls ? this : since(before);
    }

    /** What was counted since an earlier reading of some meters, of which some may have begun at 0 again. */
    CallTotals since(CallTotals before) {
        CallTotals since = new CallTotals();
        failures.forEach((code, count) -> {
            long more = count - before.failures.getOrDefault(code, 0L);
            if (more > 0) {
                since.addFailures(Map.of(code, more));
            }
        });
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

    public long calls() {
        return calls;
    }

    public long clientErrors() {
        return clientErrors;
    }

    public long serverErrors() {
        return serverErrors;
    }

    public long failed() {
        return failed;
    }

    public long limited() {
        return limited;
    }

    public Map<ErrorCode, Long> failures() {
        return failures;
    }

    /** Those that failed because of their clients, who were not limited. */
    public long mistakes() {
        return clientErrors - limited;
    }

    /** Attempts at a server that failed, or were answered with 5xx. */
    public long bad() {
        return failed + serverErrors;
    }

    public double badShare() {
        return calls == 0 ? 0 : (double) bad() / calls;
    }

    /** Attempts at a server with a good response. */
    public long answered() {
        return timed;
    }

    /** The mean seconds until the first response, of those. */
    public double mean() {
        return timed == 0 ? 0 : timedSeconds / timed;
    }

    /**
     * Rates, and latencies in milliseconds where there are any; of inferences.
     *
     * @param seconds in which they were counted
     */
    ObjectNode rates(double seconds) {
        // Alerts do not count it as a failure.
        long unimplemented = failures.getOrDefault(ErrorCode.UNIMPLEMENTED, 0L);
        ObjectNode rates = JsonNodeFactory.instance
                .objectNode()
                .put("requests_per_second", calls / seconds)
                .put("failed_per_second", (serverErrors - unimplemented) / seconds)
                .put("rejected_per_second", (clientErrors + unimplemented) / seconds);
        return timed == 0 ? rates : rates.put("p50_ms", percentile(0.5) * 1e3).put("p99_ms", percentile(0.99) * 1e3);
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
    public double percentile(double share) {
        double[] counts = Arrays.stream(within).asDoubleStream().toArray();
        return HistogramQuantile.of(share, BOUNDS, counts, (double) timed, timedSeconds, longestSeconds);
    }
}
