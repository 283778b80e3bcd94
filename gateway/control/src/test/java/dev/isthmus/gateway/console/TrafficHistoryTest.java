package dev.isthmus.gateway.console;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.metrics.CallMetrics;
import dev.isthmus.gateway.metrics.ProcessMetrics;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.TestConfigs;
import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class TrafficHistoryTest {
    private final ProcessMetrics metrics = new ProcessMetrics("test", "test");
    private final MeterRegistry registry = metrics.registry();
    private final AtomicLong nanos = new AtomicLong();
    private final TrafficHistory history = new TrafficHistory(
            registry,
            () -> TestConfigs.with(GatewayConfig.embedded(), Map.of("defaultUpstream", "u")),
            () -> 42,
            nanos::get,
            InstantSource.system());

    @AfterEach
    void close() {
        metrics.close();
    }

    private Timer calls(String model, String operation, String code) {
        return Timer.builder("isthmus.requests")
                .tags("protocol", "rest", "operation", operation, "model", model, "code", code)
                .serviceLevelObjectives(CallMetrics.BUCKETS.toArray(Duration[]::new))
                .register(registry);
    }

    private Timer tries(String outcome) {
        return Timer.builder("isthmus.upstream.requests")
                .tags("upstream", "u", "outcome", outcome)
                .register(registry);
    }

    private void sample(long seconds) {
        nanos.addAndGet(TimeUnit.SECONDS.toNanos(seconds));
        history.add(history.reading());
    }

    @SuppressWarnings("unchecked")
    private Map<String, Object> now() {
        return (Map<String, Object>) history.document(15).getOrDefault("now", Map.of());
    }

    private static void expect(@Nullable Object figure, double value) {
        assertThat((Double) figure).isCloseTo(value, within(1e-6));
    }

    @Test
    void withoutCalls_figuresAreUnknown() {
        sample(5);
        sample(5);
        expect(now().get("rate"), 0);
        assertThat(now().get("p99")).isNull();
        assertThat(now().get("own_share")).isNull();
    }

    @Test
    void rates_areThoseBetweenReadings() {
        sample(5);
        calls("a", "infer", "OK").record(Duration.ofMillis(2));
        calls("a", "infer", "INVALID_ARGUMENT").record(Duration.ofMillis(2));
        calls("b", "infer_stream", "UNAVAILABLE").record(Duration.ofMillis(2));
        calls("b", "infer", "CANCELLED").record(Duration.ofMillis(2));
        calls("b", "model_ready", "OK").record(Duration.ofMillis(2));
        sample(10);
        expect(now().get("rate"), 0.4);
        expect(now().get("client_errors"), 0.1);
        expect(now().get("server_errors"), 0.1);
        assertThat((List<?>) history.document(15).get("rate")).hasSize(1);
        assertThat(history.document(15).get("memory")).isEqualTo(List.of(42.0));
    }

    @Test
    void ratesOfAModel_areThoseBetweenTheLastTwoReadings() {
        assertThat(history.lastTwo().getFirst().models()).isEmpty();
        calls("a", "infer", "OK").record(Duration.ofMillis(2));
        sample(5);
        assertThat(history.lastTwo().getFirst()).isSameAs(history.lastTwo().getLast());
        calls("a", "infer", "OK").record(Duration.ofMillis(2));
        calls("a", "infer", "INVALID_ARGUMENT").record(Duration.ofMillis(2));
        calls("a", "infer", "UNIMPLEMENTED").record(Duration.ofMillis(2));
        calls("a", "infer", "UNAVAILABLE").record(Duration.ofMillis(2));
        sample(5);
        List<FleetReading> readings = history.lastTwo();
        ObjectNode rates = readings.getLast().model("a", readings.getFirst()).rates(5);
        assertThat(rates.path("requests_per_second").asDouble()).isEqualTo(0.8);
        // As alerts count them.
        assertThat(rates.path("failed_per_second").asDouble()).isEqualTo(0.2);
        assertThat(rates.path("rejected_per_second").asDouble()).isEqualTo(0.4);
        assertThat(rates.path("p50_ms").asDouble()).isBetween(1.0, 2.5);
        sample(5);
        readings = history.lastTwo();
        assertThat(readings.getLast().model("a", readings.getFirst()).rates(5).has("p50_ms"))
                .isFalse();
    }

    @Test
    void percentiles_areInterpolatedInTheirBucket_ofCallsSinceTheReading() {
        calls("a", "infer", "OK").record(Duration.ofSeconds(20));
        sample(5);
        for (int i = 0; i < 90; i++) {
            calls("a", "infer", "OK").record(Duration.ofMillis(2));
        }
        for (int i = 0; i < 10; i++) {
            calls("b", "generate", "OK").record(Duration.ofMillis(80));
            calls("b", "infer_stream", "OK").record(Duration.ofSeconds(50));
            calls("b", "infer", "INTERNAL").record(Duration.ofSeconds(50));
        }
        sample(5);
        // Of 1 to 2.5 ms, and of 50 to 100 ms: the sum of 0.98 s says that most is in the upper 77.2 % of these ranges.
        double first = 2 * (0.98 - 90 * 0.001 - 10 * 0.05) / (90 * 0.0015 + 10 * 0.05) - 1;
        expect(now().get("p50"), 0.001 + 0.0015 * (first + (1 - first) * 50 / 90));
        expect(now().get("p95"), 0.05 + 0.05 * (first + (1 - first) * 0.5));
        expect(now().get("p99"), 0.05 + 0.05 * (first + (1 - first) * 0.9));
    }

    @Test
    void durations_aboveTheLastBucket_countAsItsBound() {
        sample(5);
        calls("a", "infer", "OK").record(Duration.ofMinutes(5));
        sample(5);
        expect(now().get("p50"), 60);
    }

    @Test
    void ownTime_isWhatTriesDoNotTake_withoutThoseOfCopiesAndCancelledCalls() {
        AtomicLong waited = new AtomicLong();
        AtomicLong count = new AtomicLong();
        FunctionTimer.builder(
                        "isthmus.request.phase", count, AtomicLong::get, all -> waited.get(), TimeUnit.MILLISECONDS)
                .tags("protocol", "rest", "operation", "infer", "model", "a", "phase", "upstream")
                .register(registry);
        Timer tries = tries("answered");
        sample(5);
        waited.set(1000);
        count.set(10);
        tries.record(Duration.ofMillis(900));
        tries("cancelled").record(Duration.ofSeconds(5));
        tries.record(Duration.ofMillis(300));
        Timer.builder("isthmus.shadow.latency").register(registry).record(Duration.ofMillis(300));
        sample(5);
        expect(now().get("own_share"), 0.1);
        expect(now().get("own_seconds"), 0.01);
    }

    @Test
    void history_isBounded() {
        for (int i = 0; i < 2 * TrafficHistory.SAMPLES; i++) {
            sample(5);
        }
        assertThat((List<?>) history.document(15).get("rate")).hasSize(TrafficHistory.SAMPLES - 1);
        assertThat((List<?>) history.document(15).get("times")).hasSize(TrafficHistory.SAMPLES - 1);
    }

    @Test
    void longRanges_haveASampleForEachMinuteOfAtMostSixHours() {
        for (int i = 0; i < 7 * 60 * 12; i++) {
            calls("a", "infer", "OK").record(Duration.ofMillis(2));
            sample(5);
        }
        assertThat((List<?>) history.document(60).get("times")).hasSize(60);
        assertThat((List<?>) history.document(360).get("times")).hasSize(360);
        assertThat((List<?>) history.document(360).get("rate")).last().isEqualTo(0.2);
        assertThat(history.document(360)).containsEntry("interval_seconds", 60L);
    }
}
