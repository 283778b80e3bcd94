package dev.isthmus.gateway.ramp;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LatencyHistogramTest {

    @Test
    void none_isZero() {
        assertThat(new LatencyHistogram().percentile(0.95)).isZero();
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 1, 15, 16, 31, 32, 33, 1_000, 999_999, 1_000_000, 60_000_000_000L, Long.MAX_VALUE})
    void one_isKnownToASixteenth(long nanos) {
        LatencyHistogram latencies = new LatencyHistogram();
        latencies.record(nanos);
        assertThat(latencies.percentile(0.95)).isBetween(nanos, nanos + nanos / 16 < 0 ? nanos : nanos + nanos / 16);
    }

    @Test
    void negative_countsAsNothing() {
        LatencyHistogram latencies = new LatencyHistogram();
        latencies.record(-5);
        assertThat(latencies.percentile(0.95)).isZero();
    }

    @Test
    void percentile_isWhatThatShareDoesNotExceed() {
        LatencyHistogram latencies = new LatencyHistogram();
        for (int i = 1; i <= 100; i++) {
            latencies.record(TimeUnit.MILLISECONDS.toNanos(i));
        }
        long p95 = latencies.percentile(0.95);
        assertThat(p95).isBetween(TimeUnit.MILLISECONDS.toNanos(95), TimeUnit.MILLISECONDS.toNanos(101));
        assertThat(latencies.percentile(0.5)).isLessThan(TimeUnit.MILLISECONDS.toNanos(54));
    }

    /** The rank of each duration is known by its bucket; the ranks that are expected follow from all terms. */
    @ParameterizedTest
    @ValueSource(ints = {800, 1_300, 20_000, 100_000})
    void interval_isThatOfTheBinomialDistribution(int total) {
        double error = 0.001;
        double sum = 0;
        double term = total * Math.log(0.95);
        int fewest = -1;
        int most = 0;
        for (; most <= total; most++) {
            sum += Math.exp(term);
            if (sum <= error) {
                fewest = most;
            }
            if (sum >= 1 - error) {
                break;
            }
            term += Math.log((total - most) / (most + 1.0) * 0.05 / 0.95);
        }
        int first = Math.max(0, (int) (total * 0.95) - 400);
        LatencyHistogram latencies = new LatencyHistogram();
        for (int rank = 1; rank <= total; rank++) {
            latencies.record(durationOf(rank - first));
        }
        LatencyHistogram.PercentileInterval interval = latencies.interval(0.95, error);
        assertThat(interval.below()).isBetween(durationOf(total - most - first), durationOf(total - most - first + 1));
        assertThat(interval.above())
                .isBetween(durationOf(total - fewest - first), durationOf(total - fewest - first + 1));
        assertThat(most - fewest).isGreaterThan(0);
    }

    @Test
    void interval_ofTooFew_isOpen() {
        LatencyHistogram latencies = new LatencyHistogram();
        for (int recorded = 0; recorded < 3; recorded++) {
            assertThat(latencies.interval(0.95, 0.001))
                    .isEqualTo(new LatencyHistogram.PercentileInterval(0, Long.MAX_VALUE));
            latencies.record(1000);
        }
    }

    /** The least duration of a bucket of its own for each number up to 800. */
    private static long durationOf(int number) {
        int bucket = Math.clamp(number, 0, 800);
        return number <= 0 ? 0 : (16L + bucket % 16) << (1 + bucket / 16);
    }
}
