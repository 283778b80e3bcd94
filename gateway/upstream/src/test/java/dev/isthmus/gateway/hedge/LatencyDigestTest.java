package dev.isthmus.gateway.hedge;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.hedge.HedgeDelays.LatencyDigest;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LatencyDigestTest {
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

    private static long quantile(double quantile, long... latencies) {
        LatencyDigest digest = new LatencyDigest(quantile, 0);
        for (int i = 0; i < latencies.length; i++) {
            digest.measure(latencies[i], i == latencies.length - 1 ? SECOND : 0);
        }
        return digest.nanos();
    }

    @ParameterizedTest
    @ValueSource(doubles = {0.5, 0.9, 0.95, 0.99, 0.999})
    void quantiles_areRoundedUpByAtMostAnEighth(double quantile) {
        Random random = new Random(42);
        long[] latencies = random.doubles(10_000)
                .mapToLong(unit -> (long) (20_000 * Math.exp(unit * 12)))
                .toArray();
        long seen = quantile(quantile, latencies);

        Arrays.sort(latencies);
        long exact = latencies[(int) Math.ceil(quantile * latencies.length) - 1];
        assertThat(seen).isBetween(exact, exact + exact / 8 + 1);
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 1, 1023, 1024, 1_000_000, 137_000_000_000L})
    void equalLatencies_areRoundedUp(long latency) {
        long[] latencies = new long[100];
        Arrays.fill(latencies, latency);

        assertThat(quantile(0.95, latencies)).isBetween(latency, Math.max(1152, latency + latency / 8 + 1));
    }

    @Test
    void whatIsLongerThanTheLastBucket_isInIt() {
        long[] latencies = new long[100];
        Arrays.fill(latencies, Long.MAX_VALUE);

        assertThat(quantile(0.95, latencies)).isEqualTo(1L << 37);
    }

    @Test
    void fewCalls_sayNothing() {
        assertThat(quantile(0.95, new long[49])).isEqualTo(Long.MAX_VALUE);
        assertThat(quantile(0.95, new long[50])).isLessThan(Long.MAX_VALUE);
    }

    @Test
    void anotherLatency_isFollowedWithinSeconds() {
        LatencyDigest digest = new LatencyDigest(0.5, 0);
        for (long second = 1; second <= 10; second++) {
            for (int i = 0; i < 100; i++) {
                digest.measure(1_000_000, second * SECOND);
            }
        }
        assertThat(digest.nanos()).isBetween(1_000_000L, 1_125_001L);

        for (long second = 11; second <= 13; second++) {
            for (int i = 0; i < 100; i++) {
                digest.measure(9_000_000, second * SECOND);
            }
        }
        assertThat(digest.nanos()).isBetween(9_000_000L, 10_125_001L);
    }
}
