package dev.isthmus.gateway.console;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** What the meters say of the caches, the batching and the validation of models, since each was configured. */
final class FeatureFigures {
    private static final Set<String> METERS = Set.of(
            "isthmus.cache.requests",
            "isthmus.cache.evictions",
            "isthmus.cache.size",
            "isthmus.cache.entries",
            "isthmus.batching.requests",
            "isthmus.batching.calls",
            "isthmus.batching.limit",
            "isthmus.batching.wait",
            "isthmus.requests.invalid");

    /** By model, and by the name of the figure. */
    private final Map<String, Map<String, Double>> caches = new HashMap<>();

    private final Map<String, Map<String, Double>> batching = new HashMap<>();
    private final Map<String, Map<String, Double>> invalid = new HashMap<>();

    /** The meters that {@link #of} reads. */
    static MeterIndex meters(MeterRegistry registry) {
        return new MeterIndex(registry, METERS);
    }

    static FeatureFigures of(MeterIndex meters) {
        FeatureFigures figures = new FeatureFigures();
        meters.forEach(figures::read);
        return figures;
    }

    private void read(Meter meter) {
        switch (meter.getId().getName()) {
            case "isthmus.cache.requests" -> add(caches, meter, ofCache(FleetReading.tag(meter, "result")));
            case "isthmus.cache.evictions" -> add(caches, meter, "evictions");
            case "isthmus.cache.size" -> add(caches, meter, "bytes");
            case "isthmus.cache.entries" -> add(caches, meter, "entries");
            case "isthmus.batching.requests" -> add(batching, meter, ofBatching(FleetReading.tag(meter, "outcome")));
            case "isthmus.batching.calls" -> add(batching, meter, "calls");
            case "isthmus.batching.limit" -> add(batching, meter, "limit");
            case "isthmus.batching.wait" -> {
                if (meter instanceof FunctionTimer waits) {
                    add(batching, meter, "waits", waits.count());
                    add(batching, meter, "wait_seconds", waits.totalTime(TimeUnit.SECONDS));
                }
            }
            case "isthmus.requests.invalid" -> add(invalid, meter, FleetReading.tag(meter, "reason"));
            default -> {}
        }
    }

    private static String ofCache(String result) {
        return switch (result) {
            case "hit" -> "hits";
            case "collapsed" -> "joined";
            case "miss", "refreshed" -> "misses";
            default -> "bypassed";
        };
    }

    private static String ofBatching(String outcome) {
        return switch (outcome) {
            case "joined", "alone" -> outcome;
            default -> "not_joinable";
        };
    }

    private static void add(Map<String, Map<String, Double>> all, Meter meter, String figure) {
        if (meter instanceof Counter counter) {
            add(all, meter, figure, counter.count());
        } else if (meter instanceof Gauge gauge) {
            add(all, meter, figure, gauge.value());
        }
    }

    private static void add(Map<String, Map<String, Double>> all, Meter meter, String figure, double value) {
        all.computeIfAbsent(FleetReading.tag(meter, "model"), model -> new TreeMap<>())
                .merge(figure, value, Double::sum);
    }

    /** What a model's cache does; null without one. */
    @Nullable
    Map<String, Double> cache(String model) {
        return caches.get(model);
    }

    /** How many requests did not match the model's metadata, by reason. */
    Map<String, Double> invalid(String model) {
        return invalid.getOrDefault(model, Map.of());
    }

    /** What becomes of a model's requests by batching; null without it. */
    @Nullable
    Map<String, Double> batching(String model) {
        return batching.get(model);
    }
}
