package dev.isthmus.gateway.metrics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.DoubleSummaryStatistics;
import java.util.Random;
import java.util.stream.DoubleStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class HistogramQuantileTest {
    private static final double[] BOUNDS = {1, 2.5, 5, 10, 25, 50, 100};

    private static double[] counts(double[] values) {
        return Arrays.stream(BOUNDS)
                .map(bound ->
                        Arrays.stream(values).filter(value -> value <= bound).count())
                .toArray();
    }

    private static double of(double share, double[] values) {
        DoubleSummaryStatistics all = DoubleStream.of(values).summaryStatistics();
        return HistogramQuantile.of(share, BOUNDS, counts(values), values.length, all.getSum(), all.getMax());
    }

    /** Each within a tenth of the true value, where buckets alone are up to 60 % too high. */
    @ParameterizedTest
    @CsvSource({"26, 1", "30, 2", "12, 1", "45, 3", "6, 0.3", "99, 1"})
    void valuesThatAreAlike(double mean, double deviation) {
        Random random = new Random(7);
        double[] values = DoubleStream.generate(() -> mean + deviation * (random.nextDouble() - 0.5))
                .limit(1000)
                .sorted()
                .toArray();
        for (double share : new double[] {0.5, 0.95, 0.99}) {
            double exact = values[(int) (share * values.length) - 1];
            assertThat(of(share, values)).isCloseTo(exact, within(0.1 * exact));
        }
    }

    @Test
    void largestValue_mayBeOneOfBefore() {
        double[] counts = counts(DoubleStream.generate(() -> 26).limit(100).toArray());
        assertThat(HistogramQuantile.of(0.95, BOUNDS, counts, 100, 2600, 900)).isCloseTo(26, within(1.0));
    }

    @Test
    void valuesOfAllBuckets_areInterpolated() {
        double[] values =
                DoubleStream.iterate(0.05, value -> value + 0.1).limit(1000).toArray();
        assertThat(of(0.5, values)).isCloseTo(50, within(0.5));
        assertThat(of(0.95, values)).isCloseTo(95, within(0.5));
    }

    @Test
    void valuesAboveTheBuckets_countAsTheLastBound() {
        assertThat(of(0.99, new double[] {1, 2, 400})).isEqualTo(100);
    }

    @Test
    void withoutASum_itIsAsPrometheusHasIt() {
        assertThat(HistogramQuantile.of(0.5, BOUNDS, new double[] {0, 0, 0, 0, 0, 10, 10}, 10, Double.NaN, 0))
                .isEqualTo(37.5);
    }

    @Test
    void withoutValues_thereIsNone() {
        assertThat(of(0.5, new double[] {})).isNaN();
    }
}
