package dev.isthmus.gateway.shadow;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.micrometer.core.instrument.Counter;
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
 * @param lastMismatch the last difference, for operators; empty if there was none
 * @param outputs the one with the largest difference first
 * @param examples the last differences, the newest first
 */
public record ShadowReport(
        String model,
        String shadow,
        Map<String, Long> requests,
        Map<String, Long> comparisons,
        double worstDifference,
        String lastMismatch,
        List<OutputDifferenceSummary> outputs,
        List<MismatchExample> examples) {

    public ShadowReport {
        requests = Map.copyOf(requests);
        comparisons = Map.copyOf(comparisons);
        outputs = List.copyOf(outputs);
        examples = List.copyOf(examples);
    }

    /**
     * One difference.
     *
     * @param output its name; empty if the response could not be decoded
     * @param difference the largest of two numbers; infinite if they cannot be compared
     */
    record MismatchExample(String output, String reason, double difference, long secondsAgo) {
        static MismatchExample of(ResponseMismatch mismatch, long now) {
            return new MismatchExample(
                    mismatch.output(),
                    mismatch.reason(),
                    mismatch.difference(),
                    TimeUnit.NANOSECONDS.toSeconds(now - mismatch.nanoTime()));
        }
    }

    static ShadowReport of(
            ShadowName name,
            Map<ShadowOutcome, Counter> requests,
            Map<ComparisonResult, Counter> comparisons,
            double worst,
            List<OutputDifferenceSummary> outputs,
            List<ResponseMismatch> mismatches,
            long now) {
        Map<String, Long> outcomes = new TreeMap<>();
        requests.forEach((outcome, counter) -> outcomes.merge(outcome.label(), (long) counter.count(), Long::sum));
        Map<String, Long> results = new TreeMap<>();
        comparisons.forEach((verdict, counter) -> results.put(verdict.label(), (long) counter.count()));
        List<MismatchExample> examples = mismatches.stream()
                .map(mismatch -> MismatchExample.of(mismatch, now))
                .toList();
        String last = mismatches.isEmpty() ? "" : text(mismatches.getFirst(), now);
        return new ShadowReport(name.model(), name.shadow(), outcomes, results, worst, last, outputs, examples);
    }

    private static String text(ResponseMismatch last, long now) {
        String subject = last.output().isEmpty() ? "response" : "output '" + last.output() + "'";
        String size = Double.isFinite(last.difference()) ? " " + last.difference() : "";
        return subject + ": " + last.reason() + size + ", " + TimeUnit.NANOSECONDS.toSeconds(now - last.nanoTime())
                + " s ago";
    }

    /** The report as JSON, for the admin listener. */
    public ObjectNode document() {
        ObjectNode document = JsonNodeFactory.instance.objectNode();
        document.put("model", model).put("shadow", shadow);
        put(document.putObject("requests"), requests);
        put(document.putObject("comparisons"), comparisons);
        // JSON has no infinity.
        if (Double.isFinite(worstDifference)) {
            document.put("worst_difference", worstDifference);
        } else {
            document.put("worst_difference", "infinite");
        }
        document.put("last_mismatch", lastMismatch);
        ArrayNode list = document.putArray("outputs");
        outputs.forEach(output -> output.write(list.addObject()));
        ArrayNode last = document.putArray("examples");
        for (MismatchExample example : examples) {
            ObjectNode node = last.addObject()
                    .put("output", example.output())
                    .put("reason", example.reason())
                    .put("seconds_ago", example.secondsAgo());
            OutputDifferenceSummary.put(node, "difference", example.difference());
        }
        return document;
    }

    private static void put(ObjectNode into, Map<String, Long> counts) {
        new TreeMap<>(counts).forEach(into::put);
    }
}
