package dev.isthmus.gateway.console;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.console.ConsolePages.ModelsDocument.FeatureFigures;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class FeatureFiguresTest {
    private final MeterRegistry registry = new SimpleMeterRegistry();

    private void count(String name, double count, String... tags) {
        Counter.builder(name).tags(tags).register(registry).increment(count);
    }

    private FeatureFigures figures() {
        return FeatureFigures.of(FeatureFigures.meters(registry));
    }

    @Test
    void modelWithoutThem_hasNone() {
        count("isthmus.cache.requests", 1, "model", "other", "result", "hit");
        assertThat(figures().cache("m")).isNull();
        assertThat(figures().batching("m")).isNull();
        assertThat(figures().batching("other")).isNull();
    }

    @Test
    void requestsOfACache_areHitsJoinedMissesOrWithoutIt() {
        for (String result : new String[] {"hit", "collapsed", "miss", "refreshed", "large", "stream"}) {
            count("isthmus.cache.requests", 2, "model", "m", "result", result);
        }
        count("isthmus.cache.evictions", 3, "model", "m", "cause", "size");
        count("isthmus.cache.evictions", 4, "model", "m", "cause", "expired");
        Gauge.builder("isthmus.cache.size", () -> 100).tag("model", "m").register(registry);
        Gauge.builder("isthmus.cache.entries", () -> 5).tag("model", "m").register(registry);
        assertThat(figures().cache("m"))
                .isEqualTo(Map.of(
                        "hits",
                        2.0,
                        "joined",
                        2.0,
                        "misses",
                        4.0,
                        "bypassed",
                        4.0,
                        "evictions",
                        7.0,
                        "bytes",
                        100.0,
                        "entries",
                        5.0));
    }

    @Test
    void requestsOfBatching_areJoinedAloneOrNotJoinable() {
        for (String outcome : new String[] {"joined", "alone", "shape", "size"}) {
            count("isthmus.batching.requests", 8, "model", "m", "outcome", outcome);
        }
        count("isthmus.batching.calls", 2, "model", "m");
        Gauge.builder("isthmus.batching.limit", () -> 16).tag("model", "m").register(registry);
        FunctionTimer.builder("isthmus.batching.wait", this, test -> 10, test -> 5, TimeUnit.SECONDS)
                .tag("model", "m")
                .register(registry);
        assertThat(figures().batching("m"))
                .isEqualTo(Map.of(
                        "joined",
                        8.0,
                        "alone",
                        8.0,
                        "not_joinable",
                        16.0,
                        "calls",
                        2.0,
                        "limit",
                        16.0,
                        "waits",
                        10.0,
                        "wait_seconds",
                        5.0));
    }
}
