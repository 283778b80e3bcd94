package dev.isthmus.gateway.shadow;

import dev.isthmus.transcoder.compare.OutputComparison;
import java.util.ArrayList;
import java.util.List;

/** The comparisons of one output, counted by the size of their largest difference. Thread-safe. */
final class DifferenceTally {
    private final double[] bounds;
    /** No difference, at most each bound, and above the last. */
    private final long[] counts;

    private double worst;
    private long numbers;
    private double cosine;
    private double argmax;
    private long elements;
    private double equal;

    /** @param bounds the upper ends of the ranges, ascending */
    DifferenceTally(double[] bounds) {
        this.bounds = bounds.clone();
        this.counts = new long[bounds.length + 2];
    }

    synchronized void add(OutputComparison.Numbers compared) {
        numbers++;
        cosine += compared.cosine();
        argmax += compared.sameArgmax();
        worst = Math.max(worst, compared.maxDifference());
        counts[range(compared.maxDifference())]++;
    }

    synchronized void add(OutputComparison.Elements compared) {
        elements++;
        equal += compared.equalShare();
    }

    private int range(double difference) {
        if (difference == 0) {
            return 0;
        }
        int range = 0;
        while (range < bounds.length && difference > bounds[range]) {
            range++;
        }
        return range + 1;
    }

    /** @param output its name */
    synchronized OutputDifferenceSummary snapshot(String output) {
        List<OutputDifferenceSummary.DifferenceCount> distribution = new ArrayList<>();
        for (int i = 0; i < counts.length && numbers > 0; i++) {
            double most = i == 0 ? 0 : i <= bounds.length ? bounds[i - 1] : Double.POSITIVE_INFINITY;
            distribution.add(new OutputDifferenceSummary.DifferenceCount(most, counts[i]));
        }
        return new OutputDifferenceSummary(
                output,
                numbers + elements,
                worst,
                mean(cosine, numbers),
                mean(argmax, numbers),
                mean(equal, elements),
                distribution);
    }

    private static double mean(double sum, long count) {
        return count == 0 ? Double.NaN : sum / count;
    }
}
