package dev.isthmus.gateway.shadow;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;

/**
 * How one output of a shadow compares with the primary one, since the start. NaN is unknown.
 *
 * @param output its name; "other" for all beyond the first outputs
 * @param compared how many outputs were compared
 * @param worst the largest difference of two numbers; infinite for a NaN or an infinity against another value
 * @param cosine the mean cosine similarity of numbers
 * @param argmax the mean share of rows whose largest element is at the same index
 * @param equal the mean share of equal elements of BOOL and BYTES
 * @param distribution outputs of numbers by their largest difference; empty without
 */
record OutputDifferenceSummary(
        String output,
        long compared,
        double worst,
        double cosine,
        double argmax,
        double equal,
        List<DifferenceCount> distribution) {

    OutputDifferenceSummary {
        distribution = List.copyOf(distribution);
    }

    /**
     * Outputs whose largest difference is in a range.
     *
     * @param most the upper end; infinite for the last range
     */
    record DifferenceCount(double most, long count) {}

    void write(ObjectNode document) {
        document.put("output", output).put("compared", compared);
        put(document, "worst_difference", worst);
        put(document, "mean_cosine", cosine);
        put(document, "mean_argmax_agreement", argmax);
        put(document, "mean_equal_share", equal);
        ArrayNode ranges = document.putArray("distribution");
        for (DifferenceCount range : distribution) {
            ObjectNode node = ranges.addObject();
            put(node, "at_most", range.most());
            node.put("count", range.count());
        }
    }

    /** JSON has no infinity; unknown values are left out. */
    static void put(ObjectNode document, String name, double value) {
        if (Double.isInfinite(value)) {
            document.put(name, "infinite");
        } else if (!Double.isNaN(value)) {
            document.put(name, value);
        }
    }
}
