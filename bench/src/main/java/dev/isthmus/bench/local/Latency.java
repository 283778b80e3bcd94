package dev.isthmus.bench.local;

import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.function.ToDoubleFunction;
import org.HdrHistogram.Histogram;

/**
 * Latency percentiles.
 *
 * @param p50 microseconds
 * @param p99 microseconds
 */
record Latency(double p50, double p99) {
    private static final long LONGEST = TimeUnit.MINUTES.toNanos(1);

    /** A histogram of nanoseconds. Not thread-safe. */
    static Histogram histogram() {
        return new Histogram(LONGEST, 3);
    }

    static void record(Histogram nanos, long value) {
        nanos.recordValue(Math.clamp(value, 0, LONGEST));
    }

    static Latency of(Histogram nanos) {
        return new Latency(nanos.getValueAtPercentile(50) / 1_000.0, nanos.getValueAtPercentile(99) / 1_000.0);
    }

    /** The median of the repetitions, for each percentile. */
    static Latency median(List<Latency> repetitions) {
        return new Latency(median(repetitions, Latency::p50), median(repetitions, Latency::p99));
    }

    static <T> double median(List<T> repetitions, ToDoubleFunction<T> figure) {
        double[] sorted = repetitions.stream().mapToDouble(figure).sorted().toArray();
        int middle = sorted.length / 2;
        return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    }

    /** Formatted as p50 / p99. */
    String text() {
        return String.format(Locale.ROOT, "%s / %s", brief(p50), brief(p99));
    }

    /** A number with its significant decimal places. */
    static String brief(double value) {
        return String.format(Locale.ROOT, value < 10 ? "%.2f" : value < 100 ? "%.1f" : "%,.0f", value);
    }
}
