package dev.isthmus.gateway.cache;

import com.github.benmanes.caffeine.cache.RemovalCause;
import dev.isthmus.gateway.metrics.LabelledCounters;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** Counts what becomes of the requests and responses of one model with a cache. Thread-safe. */
final class CacheMeters {
    private final MeterRegistry registry;
    private final Map<CacheOutcome, Counter> outcomes;
    private final Map<UnstoredReason, Counter> unstored;
    private final Counter evicted;
    private final Counter expired;

    CacheMeters(MeterRegistry registry, String model) {
        this.registry = registry;
        outcomes = LabelledCounters.of(
                CacheOutcome.class,
                each -> Counter.builder("isthmus.cache.requests")
                        .description("Inference requests to models with a cache, by what became of them")
                        .tag("model", model)
                        .tag("result", each.label())
                        .register(registry));
        unstored = LabelledCounters.of(
                UnstoredReason.class,
                each -> Counter.builder("isthmus.cache.unstored")
                        .description("Responses that were not kept, by reason")
                        .tag("model", model)
                        .tag("reason", each.label())
                        .register(registry));
        evicted = removed(model, "size");
        expired = removed(model, "expired");
    }

    private Counter removed(String model, String cause) {
        return Counter.builder("isthmus.cache.evictions")
                .description("Responses that were removed because of max_bytes, the memory of all models, or ttl")
                .tag("model", model)
                .tag("cause", cause)
                .register(registry);
    }

    void count(CacheOutcome outcome) {
        LabelledCounters.increment(outcomes, outcome);
    }

    /** How many requests ended so. */
    long counted(CacheOutcome outcome) {
        return (long) Objects.requireNonNull(outcomes.get(outcome)).count();
    }

    void unstored(UnstoredReason reason) {
        LabelledCounters.increment(unstored, reason);
    }

    void removed(RemovalCause cause) {
        if (cause == RemovalCause.SIZE) {
            evicted.increment();
        } else if (cause == RemovalCause.EXPIRED) {
            expired.increment();
        }
    }

    /** Removes them. */
    void close() {
        List<Counter> all = new ArrayList<>(outcomes.values());
        all.addAll(unstored.values());
        all.add(evicted);
        all.add(expired);
        all.forEach(registry::remove);
    }
}
