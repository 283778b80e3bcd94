package dev.isthmus.gateway.cache;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.github.benmanes.caffeine.cache.RemovalCause;
import dev.isthmus.gateway.memory.ReservedBytes;
import dev.isthmus.gateway.metrics.LabelledCounters;
import dev.isthmus.gateway.metrics.ReplaceableMeters;
import dev.isthmus.gateway.settings.CacheConfig;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.util.concurrent.FastThreadLocal;
import java.util.Comparator;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.function.LongSupplier;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/** The caches of all routes of a gateway, and what they share: their memory and the secret of their keys. Thread-safe. */
public final class ResponseCaches {
    /** The share of the heap that responses may take: one in so many parts. */
    private static final int HEAP_SHARE = 4;

    private final MeterRegistry registry;
    private final LongSupplier nanoTime;
    /** The limit of the memory of all responses, in bytes. */
    private final long limit;

    private final ReservedBytes memory;
    private final HashSecret secret = new HashSecret();
    private final FastThreadLocal<RequestHasher> hashers = new FastThreadLocal<>() {
        @Override
        protected RequestHasher initialValue() {
            return new RequestHasher(secret);
        }
    };
    /** By route: the last one that was installed. */
    private final ConcurrentSkipListMap<String, ResponseCache> current = new ConcurrentSkipListMap<>();

    /** With a quarter of the heap. */
    public ResponseCaches(MeterRegistry registry, LongSupplier nanoTime) {
        this(registry, nanoTime, Runtime.getRuntime().maxMemory() / HEAP_SHARE);
    }

    /** @param limit of the memory of all responses, in bytes */
    ResponseCaches(MeterRegistry registry, LongSupplier nanoTime, long limit) {
        this.registry = registry;
        this.nanoTime = nanoTime;
        this.limit = limit;
        this.memory = new ReservedBytes(limit);
    }

    /** An empty cache for a route, to be installed or closed. */
    public ResponseCache open(String route, CacheConfig config) {
        return new ResponseCache(route, config, this, new CacheMeters(registry, route), nanoTime);
    }

    /** This cache is in use for its route; the one before, if there is another one, is to be closed. */
    public void install(ResponseCache cache) {
        if (current.put(cache.route(), cache) != cache) {
            cache.meters().show(cache);
        }
    }

    /**
     * Takes memory for a response. If too little is left, the least used responses of the model that has most of it give
     * way, so that no model keeps the others out.
     *
     * @return whether there is room for it
     */
    boolean take(int bytes) {
        while (!memory.reserve(bytes)) {
            ResponseCache largest = current.values().stream()
                    .max(Comparator.comparingLong(ResponseCache::bytes))
                    .orElse(null);
            if (bytes > limit || largest == null || !largest.evict(bytes)) {
                return false;
            }
        }
        return true;
    }

    ReservedBytes memory() {
        return memory;
    }

    /** That of this thread. */
    RequestHasher hasher() {
        return hashers.get();
    }

    void closed(ResponseCache cache) {
        current.remove(cache.route(), cache);
        cache.meters().close();
    }

    /** Whether there is a cache for a route. */
    public boolean has(String route) {
        return current.containsKey(route);
    }

    /**
     * Removes the responses of some models; returns how many there were.
     *
     * @param models keys of routes, and names by which servers call models
     */
    public long purge(Set<String> models) {
        return current.values().stream().mapToLong(each -> each.purge(models)).sum();
    }

    /** What is kept, and how often it was returned, as JSON. */
    public JsonNode document() {
        ObjectNode document = JsonNodeFactory.instance.objectNode();
        document.put("bytes", memory.reserved());
        document.put("max_bytes", limit);
        ArrayNode models = document.putArray("models");
        current.forEach((route, cache) -> {
            ObjectNode model = models.addObject();
            model.put("model", route);
            model.put("ttl_seconds", cache.config().ttl().toMillis() / 1000.0);
            model.put("entries", cache.entries());
            model.put("bytes", cache.bytes());
            model.put("max_bytes", cache.config().maxBytes());
            for (CacheOutcome each : CacheOutcome.values()) {
                model.put(each.label(), cache.meters().counted(each));
            }
        });
        return document;
    }

    /** Counts what becomes of the requests and responses of one model with a cache. Thread-safe. */
    static final class CacheMeters {
        private final ReplaceableMeters meters;
        private final Map<CacheOutcome, Counter> outcomes;
        private final Map<UnstoredReason, Counter> unstored;
        private final Counter evicted;
        private final Counter expired;

        CacheMeters(MeterRegistry registry, String model) {
            meters = new ReplaceableMeters(registry);
            outcomes = LabelledCounters.of(
                    CacheOutcome.class,
                    each -> meters.add(Counter.builder("isthmus.cache.requests")
                            .description("Inference requests to models with a cache, by what became of them")
                            .tag("model", model)
                            .tag("result", each.label())::register));
            unstored = LabelledCounters.of(
                    UnstoredReason.class,
                    each -> meters.add(Counter.builder("isthmus.cache.unstored")
                            .description("Responses that were not kept, by reason")
                            .tag("model", model)
                            .tag("reason", each.label())::register));
            evicted = removed(model, "size");
            expired = removed(model, "expired");
        }

        /** Registers what its cache holds, in place of the one before. */
        void show(ResponseCache cache) {
            gauge("isthmus.cache.size", "Memory of the responses kept", "bytes", cache, ResponseCache::bytes);
            gauge("isthmus.cache.entries", "Responses kept", null, cache, ResponseCache::entries);
            gauge(
                    "isthmus.cache.waiting",
                    "Requests that wait for the response to an equal one",
                    null,
                    cache,
                    ResponseCache::waiting);
        }

        private void gauge(
                String name,
                String description,
                @Nullable String unit,
                ResponseCache cache,
                ToDoubleFunction<ResponseCache> value) {
            meters.add(Gauge.builder(name, cache, value)
                    .description(description)
                    .tag("model", cache.route())
                    .baseUnit(unit)::register);
        }

        private Counter removed(String model, String cause) {
            return meters.add(Counter.builder("isthmus.cache.evictions")
                    .description("Responses that were removed because of max_bytes, the memory of all models, or ttl")
                    .tag("model", model)
                    .tag("cause", cause)::register);
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

        void close() {
            meters.close();
        }
    }
}
