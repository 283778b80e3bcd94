package dev.isthmus.gateway.shadow;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.micrometer.core.instrument.Counter;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A snapshot of a shadow.
 *
 * @param model the route's key
 * @param requests sampled calls by outcome: answered, failed, timeout, dropped, left_out
 * @param comparisons by result: equal, different, left_out, dropped
 * @param worstDifference of two numbers in the last five minutes, as in {@link DifferenceListener}
 * @param lastMismatch the last difference, for operators; empty if there was none
 */
public record ShadowReport(
        String model,
        String shadow,
        Map<String, Long> requests,
        Map<String, Long> comparisons,
        double worstDifference,
        String lastMismatch) {

    public ShadowReport {
        requests = Map.copyOf(requests);
        comparisons = Map.copyOf(comparisons);
    }

    static ShadowReport of(
            ShadowName name,
            Map<ShadowOutcome, Counter> requests,
            Map<ComparisonResult, Counter> comparisons,
            double worst,
            @Nullable ResponseMismatch last,
            long now) {
        Map<String, Long> outcomes = new TreeMap<>();
        requests.forEach((outcome, counter) -> outcomes.merge(outcome.label(), (long) counter.count(), Long::sum));
        Map<String, Long> results = new TreeMap<>();
        comparisons.forEach((verdict, counter) -> results.put(verdict.label(), (long) counter.count()));
        return new ShadowReport(name.model(), name.shadow(), outcomes, results, worst, text(last, now));
    }

    private static String text(@Nullable ResponseMismatch last, long now) {
        if (last == null) {
            return "";
        }
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
        return document.put("last_mismatch", lastMismatch);
    }

    private static void put(ObjectNode into, Map<String, Long> counts) {
        new TreeMap<>(counts).forEach(into::put);
    }
}
