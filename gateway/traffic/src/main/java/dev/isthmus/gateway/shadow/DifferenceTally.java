package dev.isthmus.gateway.shadow;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.transcoder.compare.OutputComparison;

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
