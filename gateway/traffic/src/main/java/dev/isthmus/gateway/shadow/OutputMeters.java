package dev.isthmus.gateway.shadow;

import dev.isthmus.gateway.metrics.ReplaceableMeters;
import dev.isthmus.transcoder.compare.OutputComparison;
import io.micrometer.core.instrument.DistributionSummary;
import io.micrometer.core.instrument.Tags;

/** How one output of a shadow compares with the primary one. Meters are registered with their first value. */
final class OutputMeters {
    private static final double[] DECADES = {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10, 100, 1000};
    private static final double[] SHARES = {0.5, 0.9, 0.95, 0.99, 0.999, 0.9999, 1};

    private final ReplaceableMeters meters;
    private final Tags tags;
    private final DifferenceTally differences = new DifferenceTally(DECADES);

    /** @param tags of the shadow and the output */
    OutputMeters(ReplaceableMeters meters, Tags tags) {
        this.meters = meters;
        this.tags = tags;
    }

    void record(OutputComparison.Numbers numbers) {
        differences.add(numbers);
        // Infinity would stay in the sum forever; it is counted as a mismatch instead.
        if (Double.isFinite(numbers.maxDifference())) {
            summary("isthmus.shadow.max.difference", "The largest absolute difference of two numbers", DECADES)
                    .record(numbers.maxDifference());
        }
        // Micrometer accepts no negative values.
        summary("isthmus.shadow.cosine", "Cosine similarity of an output; below 0 counts as 0", SHARES)
                .record(Math.max(0, numbers.cosine()));
        summary("isthmus.shadow.argmax.agreement", "Share of rows whose largest element is at the same index", SHARES)
                .record(numbers.sameArgmax());
    }

    void record(OutputComparison.Elements elements) {
        differences.add(elements);
        summary("isthmus.shadow.equal.share", "BOOL and BYTES: share of equal elements", SHARES)
                .record(elements.equalShare());
    }

    OutputDifferenceSummary differences(String output) {
        return differences.snapshot(output);
    }

    private DistributionSummary summary(String name, String what, double[] buckets) {
        return meters.add(registry -> DistributionSummary.builder(name)
                .description(what)
                .tags(tags)
                .serviceLevelObjectives(buckets)
                .register(registry));
    }
}
