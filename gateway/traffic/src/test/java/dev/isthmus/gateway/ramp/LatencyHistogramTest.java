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
}
