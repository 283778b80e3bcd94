package dev.isthmus.gateway.metrics;

/** Estimates quantiles from the buckets of a histogram, the sum of its values and the largest one. */
public final class HistogramQuantile {
    private HistogramQuantile() {}

    /**
     * The value that a share of all does not exceed. Within a bucket values are assumed to be spread evenly, not over all
     * of it as Prometheus has it, but up to the largest value and over the end that makes the sum of all values right:
     * latencies that are alike lie in a small part of their bucket.
     *
     * @param share from 0 to 1
     * @param bounds the upper bounds of the buckets, all finite, in ascending order; the first bucket begins at 0
     * @param within how many values do not exceed each bound
     * @param count of all values
     * @param sum of all values; NaN if it is not known
     * @param largest what no value exceeds; 0 if it is not known
     * @return NaN without values; the largest bound if it is above that
     */
    public static double of(double share, double[] bounds, double[] within, double count, double sum, double largest) {
        if (!(count > 0)) {
            return Double.NaN;
        }
        double place = place(bounds, within, count, sum, largest);
        double first = Math.max(0, 2 * place - 1);
        double last = Math.min(1, 2 * place);
        double rank = share * count;
        double below = 0;
        double lower = 0;
        for (int i = 0; i < bounds.length; i++) {
            if (within[i] >= rank && within[i] > below) {
                double width = width(lower, bounds[i], largest);
                return lower + width * (first + (last - first) * (rank - below) / (within[i] - below));
            }
            below = Math.max(below, within[i]);
            lower = bounds[i];
        }
        return lower;
    }

    private static double width(double lower, double upper, double largest) {
        return largest > 0 ? Math.max(0, Math.min(upper, largest) - lower) : upper - lower;
    }

    /** Where in its bucket the mean value is, from 0 to 1, the same for all buckets. */
    private static double place(double[] bounds, double[] within, double count, double sum, double largest) {
        double below = 0;
        double lower = 0;
        double least = 0;
        double widths = 0;
        for (int i = 0; i < bounds.length; i++) {
            double values = Math.max(0, within[i] - below);
            least += values * lower;
            widths += values * width(lower, bounds[i], largest);
            below += values;
            lower = bounds[i];
        }
        boolean known = count <= below && widths > 0 && !Double.isNaN(sum);
        return known ? Math.clamp((sum - least) / widths, 0, 1) : 0.5;
    }
}
