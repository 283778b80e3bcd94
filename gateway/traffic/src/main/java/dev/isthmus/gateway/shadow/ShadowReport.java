package dev.isthmus.gateway.shadow;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

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
}
