package dev.isthmus.gateway.shadow;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.metrics.LabelledCounters;
import dev.isthmus.gateway.metrics.ReplaceableMeters;
import dev.isthmus.gateway.shadow.ShadowReport.DifferenceTally;
import dev.isthmus.gateway.shadow.ShadowReport.ResponseMismatch;
import dev.isthmus.transcoder.compare.OutputComparison;
import io.micrometer.core.instrument.Clock;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.DistributionSummary;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.distribution.TimeWindowMax;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Predicate;

/** The statistics of one shadow of one model; survives reloads. Thread-safe. */
final class ShadowFigures implements AutoCloseable {
    /** Outputs with meters of their own; the server determines their names and number. */
    private static final int MAX_OUTPUTS = 32;

    private static final String OTHER_OUTPUT = "other";
    /** How many differences are kept as examples. */
    private static final int MAX_EXAMPLES = 10;

    private static final int SLOTS = 10;
    private static final long SLOT_MILLIS = 30_000;

    private final ShadowName name;
    private final LongSupplier nanoTime;
    private final DifferenceListener listener;
    private final ReplaceableMeters meters;
    private final Map<ShadowOutcome, Counter> requests;
    private final Map<ComparisonResult, Counter> comparisons;
    private final Timer latency;
    private final Map<String, OutputMeters> outputs = new ConcurrentHashMap<>();
    /** The largest difference of the last five minutes. */
    private final TimeWindowMax worst;
    /** The last mismatches, the newest first. */
    private final Deque<ResponseMismatch> mismatches = new ConcurrentLinkedDeque<>();

    /** Not the wall clock, which may jump. */
    private record NanoClock(LongSupplier nanoTime) implements Clock {
        @Override
        public long wallTime() {
            return TimeUnit.NANOSECONDS.toMillis(monotonicTime());
        }

        @Override
        public long monotonicTime() {
            return nanoTime.getAsLong();
        }
    }

    ShadowFigures(ShadowName name, ReplaceableMeters meters, LongSupplier nanoTime, DifferenceListener listener) {
        this.name = name;
        this.nanoTime = nanoTime;
        this.listener = listener;
        this.meters = meters;
        this.worst = new TimeWindowMax(new NanoClock(nanoTime), SLOT_MILLIS, SLOTS);
        this.requests = LabelledCounters.of(
                ShadowOutcome.class,
                outcome -> meters.add(Counter.builder("isthmus.shadow.requests")
                        .description("Sampled calls")
                        .tags(name.tags().and("outcome", outcome.label(), "reason", outcome.reason()))::register));
        this.comparisons = LabelledCounters.of(
                ComparisonResult.class,
                result -> meters.add(Counter.builder("isthmus.shadow.comparisons")
                        .description("Comparisons of a response with the shadow's")
                        .tags(name.tags().and("outcome", result.label()))::register));
        this.latency = meters.add(Timer.builder("isthmus.shadow.latency")
                .description("Response time of copies")
                .tags(name.tags())::register);
    }

    void count(ShadowOutcome outcome) {
        LabelledCounters.increment(requests, outcome);
    }

    void respondedAfter(long nanos) {
        count(ShadowOutcome.ANSWERED);
        latency.record(nanos, TimeUnit.NANOSECONDS);
    }

    void count(ComparisonResult result) {
        LabelledCounters.increment(comparisons, result);
    }

    /**
     * Two responses were compared.
     *
     * @param requestId of the call
     * @param accepts whether an output is equal within the tolerance
     */
    void compared(String requestId, List<OutputComparison> results, Predicate<OutputComparison> accepts) {
        double largest = 0;
        boolean equal = true;
        for (OutputComparison result : results) {
            boolean accepted = accepts.test(result);
            largest = Math.max(largest, record(requestId, result, accepted));
            equal &= accepted;
        }
        count(equal ? ComparisonResult.EQUAL : ComparisonResult.DIFFERENT);
        reportDifference(largest);
    }

    /** The shadow's response cannot be decoded. */
    void unreadable(String requestId) {
        count(ComparisonResult.DIFFERENT);
        mismatch(requestId, "", "unreadable");
        reportDifference(Double.POSITIVE_INFINITY);
    }

    private void reportDifference(double largest) {
        worst.record(largest);
        listener.compared(name.model(), name.shadow(), largest);
    }

    /** Records an output; returns its difference. */
    private double record(String requestId, OutputComparison result, boolean accepted) {
        return switch (result) {
            case OutputComparison.Unlike unlike -> {
                mismatch(requestId, unlike.name(), unlike.reason().name().toLowerCase(Locale.ROOT));
                yield Double.POSITIVE_INFINITY;
            }
            case OutputComparison.Numbers numbers -> {
                meters(numbers.name()).record(numbers);
                numbers(requestId, numbers, accepted);
                yield numbers.maxDifference();
            }
            case OutputComparison.Elements elements -> {
                meters(elements.name()).record(elements);
                if (!elements.equal()) {
                    keep(new ResponseMismatch(elements.name(), "difference", 0, requestId, nanoTime.getAsLong()));
                }
                yield 0;
            }
        };
    }

    private void numbers(String requestId, OutputComparison.Numbers numbers, boolean accepted) {
        if (Double.isInfinite(numbers.maxDifference())) {
            mismatch(requestId, numbers.name(), "not_finite");
        } else if (!accepted) {
            keep(new ResponseMismatch(
                    numbers.name(), "difference", numbers.maxDifference(), requestId, nanoTime.getAsLong()));
        }
    }

    private void mismatch(String requestId, String output, String reason) {
        Tags tags = name.tags().and("reason", reason);
        meters.add(Counter.builder("isthmus.shadow.mismatch")
                        .description(
                                "Outputs that cannot be compared. Reasons: not_in_first, not_in_second, datatype, shape,"
                                        + " shared_memory, not_finite, unreadable")
                        .tags(tags)::register)
                .increment();
        keep(new ResponseMismatch(output, reason, Double.POSITIVE_INFINITY, requestId, nanoTime.getAsLong()));
    }

    private void keep(ResponseMismatch mismatch) {
        mismatches.addFirst(mismatch);
        if (mismatches.size() > MAX_EXAMPLES) {
            mismatches.removeLast();
        }
    }

    private OutputMeters meters(String output) {
        String bounded = outputs.containsKey(output) || outputs.size() < MAX_OUTPUTS ? output : OTHER_OUTPUT;
        return outputs.computeIfAbsent(
                bounded, known -> new OutputMeters(meters, name.tags().and("output", known)));
    }

    ShadowReport report() {
        List<ObjectNode> differences = outputs.entrySet().stream()
                .map(output -> output.getValue().differences().document(output.getKey()))
                .sorted(Comparator.comparingDouble(DifferenceTally::worst)
                        .reversed()
                        .thenComparing(output -> output.path("output").asText()))
                .toList();
        Map<String, Long> outcomes = new TreeMap<>();
        requests.forEach((outcome, counter) -> outcomes.merge(outcome.label(), (long) counter.count(), Long::sum));
        Map<String, Long> results = new TreeMap<>();
        comparisons.forEach((result, counter) -> results.put(result.label(), (long) counter.count()));
        return new ShadowReport(
                name.model(),
                name.shadow(),
                outcomes,
                results,
                worst.poll(),
                differences,
                List.copyOf(mismatches),
                nanoTime.getAsLong());
    }

    @Override
    public void close() {
        meters.close();
    }

    /** How one output of a shadow compares with the primary one. Meters are registered with their first value. */
    static final class OutputMeters {
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
            summary(
                            "isthmus.shadow.argmax.agreement",
                            "Share of rows whose largest element is at the same index",
                            SHARES)
                    .record(numbers.sameArgmax());
        }

        void record(OutputComparison.Elements elements) {
            differences.add(elements);
            summary("isthmus.shadow.equal.share", "BOOL and BYTES: share of equal elements", SHARES)
                    .record(elements.equalShare());
        }

        DifferenceTally differences() {
            return differences;
        }

        private DistributionSummary summary(String name, String what, double[] buckets) {
            return meters.add(registry -> DistributionSummary.builder(name)
                    .description(what)
                    .tags(tags)
                    .serviceLevelObjectives(buckets)
                    .register(registry));
        }
    }
}
