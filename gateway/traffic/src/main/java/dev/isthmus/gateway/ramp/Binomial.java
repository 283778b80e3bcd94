package dev.isthmus.gateway.ramp;

/**
 * The binomial distribution: how many of a number of independent calls have a property that each has with the same
 * probability.
 */
final class Binomial {
    /** From here on Stirling's series is as good as exact. */
    private static final long STIRLING = 64;
    /** Terms that are smaller in relation to their sum change nothing. */
    private static final double NEGLIGIBLE = 1e-9;

    private Binomial() {}

    /**
     * The natural logarithm of the probability that exactly {@code some} of {@code all} have it.
     *
     * @param probability from 0, below 1; above 0 unless {@code some} is
     */
    static double logExactly(long some, long all, double probability) {
        return logFactorial(all)
                - logFactorial(some)
                - logFactorial(all - some)
                + some * Math.log(probability)
                + (all - some) * Math.log1p(-probability);
    }

    /**
     * The probability that at least {@code some} of {@code all} have it.
     *
     * @param some more than expected: not 0
     * @param probability from 0, below 1
     */
    static double atLeast(long some, long all, double probability) {
        double term = Math.exp(logExactly(some, all, probability));
        double sum = term;
        for (long i = some; i < all && term > NEGLIGIBLE * sum; i++) {
            term *= (all - i) / (i + 1.0) * probability / (1 - probability);
            sum += term;
        }
        return sum;
    }

    private static double logFactorial(long number) {
        if (number < STIRLING) {
            double sum = 0;
            for (long i = 2; i <= number; i++) {
                sum += Math.log((double) i);
            }
            return sum;
        }
        double n = (double) number;
        return n * Math.log(n) - n + Math.log(2 * Math.PI * n) / 2 + 1 / (12.0 * n) - 1 / (360.0 * n * n * n);
    }
}
