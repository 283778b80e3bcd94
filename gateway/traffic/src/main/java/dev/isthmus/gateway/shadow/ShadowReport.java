package dev.isthmus.gateway.shadow;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.transcoder.compare.OutputComparison;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/**
 * A snapshot of a shadow.
 *
 * @param model the route's key
 * @param requests sampled calls by outcome: answered, failed, timeout, dropped, left_out
 * @param comparisons by result: equal, different, left_out, dropped
 * @param worstDifference of two numbers in the last five minutes, as in {@link DifferenceListener}
 * @param outputs as JSON, the one with the largest difference first
 * @param examples the last differences, the newest first
 * @param nanoTime when it was made
 */
public record ShadowReport(
        String model,
        String shadow,
        Map<String, Long> requests,
        Map<String, Long> comparisons,
        double worstDifference,
        List<ObjectNode> outputs,
        List<ResponseMismatch> examples,
        long nanoTime) {

    public ShadowReport {
        requests = Map.copyOf(requests);
        comparisons = Map.copyOf(comparisons);
        outputs = List.copyOf(outputs);
        examples = List.copyOf(examples);
    }

    /** The last difference, for operators; empty if there was none. */
    String lastMismatch() {
        if (examples.isEmpty()) {
            return "";
        }
        ResponseMismatch last = examples.getFirst();
        String subject = last.output().isEmpty() ? "response" : "output '" + last.output() + "'";
        String size = Double.isFinite(last.difference()) ? " " + last.difference() : "";
        return subject + ": " + last.reason() + size + ", " + last.secondsAgo(nanoTime) + " s ago";
    }

    /** The report as JSON, for the admin listener. */
    public ObjectNode document() {
        ObjectNode document = JsonNodeFactory.instance.objectNode();
        document.put("model", model).put("shadow", shadow);
        put(document.putObject("requests"), requests);
        put(document.putObject("comparisons"), comparisons);
        DifferenceTally.put(document, "worst_difference", worstDifference);
        document.put("last_mismatch", lastMismatch());
        document.putArray("outputs").addAll(outputs);
        ArrayNode last = document.putArray("examples");
        for (ResponseMismatch example : examples) {
            ObjectNode node = last.addObject()
                    .put("output", example.output())
                    .put("reason", example.reason())
                    .put("request_id", example.requestId())
                    .put("seconds_ago", example.secondsAgo(nanoTime));
            DifferenceTally.put(node, "difference", example.difference());
        }
        return document;
    }

    private static void put(ObjectNode into, Map<String, Long> counts) {
        new TreeMap<>(counts).forEach(into::put);
    }

    /**
     * How two responses differed.
     *
     * @param output its name; empty if the response could not be decoded
     * @param reason the metric's tag value; "difference" if numbers or elements differ
     * @param difference the largest of two numbers; infinite if they cannot be compared
     * @param requestId of the call
     * @param nanoTime when
     */
    record ResponseMismatch(String output, String reason, double difference, String requestId, long nanoTime) {
        long secondsAgo(long now) {
            return TimeUnit.NANOSECONDS.toSeconds(now - nanoTime);
        }
    }

    /** The comparisons of one output, counted by the size of their largest difference. Thread-safe. */
    static final class DifferenceTally {
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

        /**
         * As JSON. Shares and similarities are means; the worst difference is infinite for a NaN or an infinity against another
         * value.
         *
         * @param output its name; "other" for all beyond the first outputs
         */
        synchronized ObjectNode document(String output) {
            ObjectNode document = JsonNodeFactory.instance.objectNode();
            document.put("output", output).put("compared", numbers + elements);
            put(document, "worst_difference", worst);
            put(document, "mean_cosine", mean(cosine, numbers));
            put(document, "mean_argmax_agreement", mean(argmax, numbers));
            put(document, "mean_equal_share", mean(equal, elements));
            ArrayNode ranges = document.putArray("distribution");
            for (int i = 0; i < counts.length && numbers > 0; i++) {
                ObjectNode range = ranges.addObject();
                put(range, "at_most", i == 0 ? 0 : i <= bounds.length ? bounds[i - 1] : Double.POSITIVE_INFINITY);
                range.put("count", counts[i]);
            }
            return document;
        }

        /** The largest difference of a {@link #document}. */
        static double worst(ObjectNode document) {
            return document.path("worst_difference").asDouble(Double.POSITIVE_INFINITY);
        }

        /** JSON has no infinity; unknown values are left out. */
        static void put(ObjectNode document, String name, double value) {
            if (Double.isInfinite(value)) {
                document.put(name, "infinite");
            } else if (!Double.isNaN(value)) {
                document.put(name, value);
            }
        }

        private static double mean(double sum, long count) {
            return count == 0 ? Double.NaN : sum / count;
        }
    }
}
