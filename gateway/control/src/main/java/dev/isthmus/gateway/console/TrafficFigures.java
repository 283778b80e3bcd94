package dev.isthmus.gateway.console;

import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What calls did between two readings. NaN is unknown.
 *
 * @param rate calls per second
 * @param clientErrors calls per second that failed with a status from 400 to 498
 * @param serverErrors calls per second that failed with a status of 500 or more
 * @param p50 in seconds, as p95 and p99: of successful calls that are no streams
 */
record TrafficFigures(double rate, double clientErrors, double serverErrors, double p50, double p95, double p99) {
    private static final double MICROS = 1e6;

    /** @param seconds from the earlier to the later reading */
    static TrafficFigures between(CallTotals before, CallTotals after, double seconds) {
        return of(after.since(before), seconds);
    }

    /**
     * The figures of some calls.
     *
     * @param seconds in which they were counted
     */
    static TrafficFigures of(CallTotals calls, double seconds) {
        return new TrafficFigures(
                rate(calls.calls(), seconds),
                rate(calls.clientErrors(), seconds),
                rate(calls.serverErrors(), seconds),
                calls.percentile(0.5),
                calls.percentile(0.95),
                calls.percentile(0.99));
    }

    /** Calls per second. */
    static double rate(long calls, double seconds) {
        return seconds <= 0 ? Double.NaN : calls / seconds;
    }

    Map<String, @Nullable Object> document() {
        Map<String, @Nullable Object> document = new LinkedHashMap<>();
        document.put("rate", rounded(rate));
        document.put("client_errors", rounded(clientErrors));
        document.put("server_errors", rounded(serverErrors));
        document.put("p50", rounded(p50));
        document.put("p95", rounded(p95));
        document.put("p99", rounded(p99));
        return document;
    }

    /** To six decimals; null if it is unknown, which JSON has no number for. */
    static @Nullable Double rounded(double value) {
        return Double.isFinite(value) ? Math.round(value * MICROS) / MICROS : null;
    }
}
