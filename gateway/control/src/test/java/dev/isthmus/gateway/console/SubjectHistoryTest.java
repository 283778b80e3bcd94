package dev.isthmus.gateway.console;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.console.SubjectHistory.SubjectGroup;
import dev.isthmus.gateway.console.SubjectHistory.SubjectKind;
import dev.isthmus.gateway.metrics.CallMetrics;
import dev.isthmus.gateway.metrics.ProcessMetrics;
import dev.isthmus.gateway.settings.GatewayConfig;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class SubjectHistoryTest {
    private final ProcessMetrics metrics = new ProcessMetrics("test", "test");
    private final MeterRegistry registry = metrics.registry();
    private final AtomicLong nanos = new AtomicLong();
    private final TrafficHistory history =
            new TrafficHistory(registry, GatewayConfig::embedded, () -> 0, nanos::get, InstantSource.system());

    @AfterEach
    void close() {
        metrics.close();
    }

    /** Two readings, which end a slot. */
    private void slot() {
        for (int i = 0; i < 2; i++) {
            history.add(history.reading());
            nanos.addAndGet(TimeUnit.SECONDS.toNanos(5));
        }
    }

    private void minute() {
        for (int i = 0; i < 6; i++) {
            slot();
        }
    }

    private void calls(String model, int count, String code, Duration duration) {
        Timer timer = Timer.builder("isthmus.requests")
                .tags("protocol", "rest", "operation", "infer", "model", model, "code", code)
                .serviceLevelObjectives(CallMetrics.BUCKETS.toArray(Duration[]::new))
                .register(registry);
        for (int i = 0; i < count; i++) {
            timer.record(duration);
        }
    }

    private void calls(String model, int count) {
        calls(model, count, "OK", Duration.ofMillis(2));
    }

    private Counter counter(String name, String... tags) {
        return Counter.builder(name).tags(tags).register(registry);
    }

    private Map<String, @Nullable Object> of(SubjectKind kind, String of, String name) {
        return history.document(kind, new SubjectKey(of, name), 15);
    }

    private static @Nullable Object last(Map<String, @Nullable Object> document, String figure) {
        List<?> values = Objects.requireNonNull((List<?>) document.get(figure));
        assertThat(values).hasSameSizeAs((List<?>) document.get("times"));
        return values.getLast();
    }

    @Test
    void models_haveRatesErrorsAndDurationsOfEachSlot() {
        slot();
        calls("a", 20);
        calls("a", 10, "UNAVAILABLE", Duration.ofMillis(2));
        calls("b", 5, "INVALID_ARGUMENT", Duration.ofMillis(2));
        slot();
        Map<String, @Nullable Object> a = of(SubjectKind.MODEL, "", "a");
        assertThat(a).containsEntry("found", true).containsEntry("interval_seconds", 10);
        assertThat(last(a, "rate")).isEqualTo(3.0);
        assertThat(last(a, "server_errors")).isEqualTo(1.0);
        assertThat(last(a, "client_errors")).isEqualTo(0.0);
        assertThat(last(a, "p50")).isEqualTo(0.002);
        assertThat(last(of(SubjectKind.MODEL, "", "b"), "client_errors")).isEqualTo(0.5);
        slot();
        assertThat(last(of(SubjectKind.MODEL, "", "a"), "rate")).isEqualTo(0.0);
        assertThat(last(of(SubjectKind.MODEL, "", "a"), "p50")).isNull();
    }

    @Test
    void targets_haveDurationsWithOtherBuckets() {
        slot();
        String[] tags = {"model", "a", "target", "next", "upstream", "u", "version", "2"};
        Counter.builder("isthmus.target.requests")
                .tags(tags)
                .tag("outcome", "server_error")
                .register(registry)
                .increment(10);
        Timer answers = Timer.builder("isthmus.target.answer")
                .tags(tags)
                .serviceLevelObjectives(Duration.ofMillis(2), Duration.ofMillis(5))
                .register(registry);
        answers.record(Duration.ofNanos(1_500_000));
        slot();
        Map<String, @Nullable Object> target = of(SubjectKind.TARGET, "a", "next");
        assertThat(last(target, "rate")).isEqualTo(1.0);
        assertThat(last(target, "server_errors")).isEqualTo(1.0);
        assertThat(last(target, "p99")).isEqualTo(0.0015);
    }

    @Test
    void servers_haveAttempts_withoutCancelledOnes() {
        slot();
        AtomicLong attempts = new AtomicLong();
        for (String outcome : List.of("answered", "failed", "unavailable", "cancelled")) {
            FunctionTimer.builder(
                            "isthmus.endpoint.requests",
                            attempts,
                            AtomicLong::get,
                            all -> 2.0 * all.get(),
                            TimeUnit.SECONDS)
                    .tags("upstream", "u", "endpoint", "10.0.0.1:80", "outcome", outcome)
                    .register(registry);
        }
        attempts.set(10);
        slot();
        Map<String, @Nullable Object> server = of(SubjectKind.SERVER, "u", "10.0.0.1:80");
        assertThat(last(server, "rate")).isEqualTo(3.0);
        assertThat(last(server, "no_response")).isEqualTo(1.0);
        assertThat(last(server, "server_errors")).isEqualTo(1.0);
        assertThat(last(server, "mean")).isEqualTo(2.0);
    }

    @Test
    void callers_haveCallsErrorsRefusalsAndDurations() {
        slot();
        counter("isthmus.principal.requests", "principal", "web", "result", "ok")
                .increment(20);
        counter("isthmus.principal.requests", "principal", "web", "result", "error")
                .increment(10);
        counter("isthmus.principal.requests.limited", "principal", "web").increment(5);
        Timer durations = Timer.builder("isthmus.principal.duration")
                .tags("principal", "web")
                .serviceLevelObjectives(CallMetrics.BUCKETS.toArray(Duration[]::new))
                .register(registry);
        for (int i = 0; i < 20; i++) {
            durations.record(Duration.ofMillis(2));
        }
        slot();
        Map<String, @Nullable Object> caller = of(SubjectKind.CALLER, "", "web");
        assertThat(last(caller, "rate")).isEqualTo(3.0);
        assertThat(last(caller, "errors")).isEqualTo(1.0);
        assertThat(last(caller, "limited")).isEqualTo(0.5);
        assertThat(last(caller, "p50")).isEqualTo(0.002);
        slot();
        assertThat(last(of(SubjectKind.CALLER, "", "web"), "p50")).isNull();
    }

    @Test
    void theBusiest_haveFiguresOfTheirOwn_allOthersTogether() {
        slot();
        for (int i = 0; i < SubjectGroup.MOST + 20; i++) {
            calls("m" + i, 10);
        }
        slot();
        Map<String, @Nullable Object> others = history.document(SubjectKind.MODEL, null, 15);
        assertThat((List<?>) others.get("subjects")).hasSize(SubjectGroup.MOST);
        assertThat(last(others, "rate")).isEqualTo(20.0);
        assertThat(of(SubjectKind.MODEL, "", "unknown"))
                .containsEntry("found", false)
                .containsEntry("rate", List.of());
    }

    @Test
    void aSubject_takesThePlaceOfAnotherWithHalfOfItsCalls() {
        slot();
        for (int i = 0; i < SubjectGroup.MOST; i++) {
            calls("m" + i, i == 7 ? 1 : 1000);
        }
        slot();
        for (int i = 0; i < 14; i++) {
            calls("late", 10);
            calls("m3", 1000);
            slot();
        }
        Map<String, @Nullable Object> late = of(SubjectKind.MODEL, "", "late");
        assertThat(late).containsEntry("found", true);
        assertThat(last(late, "rate")).isEqualTo(1.0);
        assertThat(of(SubjectKind.MODEL, "", "m7")).containsEntry("found", false);
        assertThat(history.document(SubjectKind.MODEL, null, 15).get("subjects"))
                .asString()
                .startsWith("[SubjectKey[of=, name=m3]");
    }

    @Test
    void longRanges_haveAValueForEachMinute_andAreBounded() {
        for (int i = 0; i < TrafficHistory.MOST_MINUTES + 10; i++) {
            calls("a", 60);
            minute();
        }
        Map<String, @Nullable Object> hour = history.document(SubjectKind.MODEL, new SubjectKey("", "a"), 60);
        assertThat(hour).containsEntry("interval_seconds", 60);
        assertThat((List<?>) hour.get("times")).hasSize(60);
        assertThat(last(hour, "rate")).isEqualTo(1.0);
        assertThat((List<?>) history.document(SubjectKind.MODEL, new SubjectKey("", "a"), 360)
                        .get("rate"))
                .hasSize(360)
                .doesNotContainNull();
        assertThat((List<?>) of(SubjectKind.MODEL, "", "a").get("rate")).hasSize(SubjectHistory.RECENT_SLOTS);
    }

    @Test
    void aSubjectWithoutMeters_isForgottenAfterItsLastCall() {
        slot();
        calls("gone", 10);
        minute();
        registry.getMeters().forEach(registry::remove);
        minute();
        assertThat(of(SubjectKind.MODEL, "", "gone")).containsEntry("found", true);
        for (int i = 0; i < TrafficHistory.MOST_MINUTES + 1; i++) {
            minute();
        }
        assertThat(of(SubjectKind.MODEL, "", "gone")).containsEntry("found", false);
    }

    @Test
    void memory_isBounded() {
        long bytes = Arrays.stream(SubjectKind.values())
                .mapToLong(kind -> (SubjectGroup.MOST + 1L)
                        * (SubjectHistory.RECENT_SLOTS + TrafficHistory.MOST_MINUTES)
                        * kind.figures().size()
                        * Float.BYTES)
                .sum();
        assertThat(bytes).isEqualTo(2_019_600);
    }
}
