package dev.isthmus.gateway.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.fleet.Replica.LatencyEstimate;
import java.time.Duration;
import org.assertj.core.data.Percentage;
import org.junit.jupiter.api.Test;

class LatencyEstimateTest {
    private static final long START = -5_000_000_000L;
    private static final long MILLI = Duration.ofMillis(1).toNanos();
    private static final long TEN_SECONDS = Duration.ofSeconds(10).toNanos();
    private static final Percentage CLOSE = Percentage.withPercentage(0.1);

    private final LatencyEstimate latency = new LatencyEstimate();

    @Test
    void nothingMeasured_isNothing() {
        assertThat(latency.known()).isFalse();
        assertThat(latency.at(START)).isZero();
    }

    @Test
    void longerTime_countsAtOnce() {
        latency.measure(10 * MILLI, true, START);
        latency.measure(500 * MILLI, true, START + MILLI);

        assertThat(latency.at(START + MILLI)).isCloseTo(500.0 * MILLI, CLOSE);
    }

    @Test
    void shorterTime_countsByTheTimeThatPassed() {
        latency.measure(100 * MILLI, true, START);
        latency.measure(10 * MILLI, true, START + TEN_SECONDS);

        assertThat(latency.at(START + TEN_SECONDS)).isCloseTo((10 + 90 / Math.E) * MILLI, CLOSE);
    }

    @Test
    void failure_neverLowers() {
        latency.measure(100 * MILLI, true, START);
        latency.measure(MILLI, false, START + MILLI);

        assertThat(latency.at(START + MILLI)).isGreaterThan(99.9 * MILLI);
    }

    @Test
    void failure_mayRaise() {
        latency.measure(MILLI, true, START);
        latency.measure(100 * MILLI, false, START);

        assertThat(latency.at(START)).isCloseTo(100.0 * MILLI, CLOSE);
    }

    @Test
    void unusedServer_fades() {
        latency.measure(100 * MILLI, true, START);

        assertThat(latency.at(START + TEN_SECONDS)).isCloseTo(100.0 * MILLI / Math.E, CLOSE);
    }
}
