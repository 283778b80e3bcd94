package dev.isthmus.bench.faults;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;

/** Counts offered requests and their outcomes. Thread-safe. */
final class Tally {
    /**
     * A request that failed.
     *
     * @param sentNanos when it was sent
     * @param endedNanos when its failure was observed
     */
    record Failure(int id, long sentNanos, long endedNanos, Outcome outcome) {}

    private final Histogram micros = new Histogram(TimeUnit.MINUTES.toMicros(10), 3);
    private final List<Failure> failures = new ArrayList<>();
    private long offered;
    private long ok;

    synchronized void offered() {
        offered++;
    }

    /**
     * Counts the end of a request.
     *
     * @param scheduledNanos when the request was due; its latency counts from here
     */
    synchronized void ended(int id, long scheduledNanos, long sentNanos, long endedNanos, Outcome outcome) {
        long latency = TimeUnit.NANOSECONDS.toMicros(endedNanos - scheduledNanos);
        micros.recordValue(Math.clamp(latency, 0, micros.getHighestTrackableValue()));
        if (outcome.kind() == Outcome.Kind.OK) {
            ok++;
        } else {
            failures.add(new Failure(id, sentNanos, endedNanos, outcome));
        }
    }

    synchronized long offeredCount() {
        return offered;
    }

    synchronized long okCount() {
        return ok;
    }

    synchronized List<Failure> failures() {
        return List.copyOf(failures);
    }

    /** The number of failures by outcome. */
    synchronized Map<String, Integer> failuresByText() {
        Map<String, Integer> counts = new TreeMap<>();
        failures.forEach(failure -> counts.merge(failure.outcome().text(), 1, Integer::sum));
        return counts;
    }

    /** A latency percentile in milliseconds over all requests, including failed ones. */
    synchronized double millis(double percentile) {
        return micros.getTotalCount() == 0 ? 0 : micros.getValueAtPercentile(percentile) / 1_000.0;
    }
}
