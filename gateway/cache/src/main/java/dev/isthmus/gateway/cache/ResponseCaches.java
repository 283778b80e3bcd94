package dev.isthmus.gateway.cache;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.memory.ReservedBytes;
import dev.isthmus.gateway.settings.CacheConfig;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.util.concurrent.FastThreadLocal;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.function.LongSupplier;
import java.util.function.ToDoubleFunction;

/** The caches of all routes of a gateway, and what they share: their memory and the secret of their keys. Thread-safe. */
public final class ResponseCaches {
    /** The share of the heap that responses may take: one in so many parts. */
    private static final int HEAP_SHARE = 4;

    private final MeterRegistry registry;
    private final LongSupplier nanoTime;
    /** The limit of the memory of all responses, in bytes. */
    private final long limit;

    private final ReservedBytes memory;
    private final HashSecret secret = HashSecret.random();
    private final FastThreadLocal<RequestHasher> hashers = new FastThreadLocal<>() {
        @Override
        protected RequestHasher initialValue() {
            return new RequestHasher(secret);
        }
    };
    /** By route: the last one that was opened. */
    private final ConcurrentSkipListMap<String, ResponseCache> current = new ConcurrentSkipListMap<>();

    private final Map<String, List<Gauge>> gauges = new ConcurrentHashMap<>();

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

    /** An empty cache for a route; the one before, if there is one, is to be closed. */
    public ResponseCache open(String route, CacheConfig config) {
        ResponseCache cache = new ResponseCache(route, config, this, new CacheMeters(registry, route), nanoTime);
        current.put(route, cache);
        gauges.computeIfAbsent(
                route,
                unknown -> List.of(
                        gauge(
                                route,
                                "isthmus.cache.size",
                                "bytes",
                                ResponseCache::bytes,
                                "Memory of the responses kept"),
                        gauge(route, "isthmus.cache.entries", "", ResponseCache::entries, "Responses kept"),
                        gauge(
                                route,
                                "isthmus.cache.waiting",
                                "",
                                ResponseCache::waiting,
                                "Requests that wait for the response to an equal one")));
        return cache;
    }

    private Gauge gauge(
            String route, String name, String unit, ToDoubleFunction<ResponseCache> value, String description) {
        return Gauge.builder(name, current, caches -> {
                    ResponseCache cache = caches.get(route);
                    return cache == null ? 0 : value.applyAsDouble(cache);
                })
                .description(description)
                .tag("model", route)
                .baseUnit(unit.isEmpty() ? null : unit)
                .register(registry);
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
        if (current.remove(cache.route(), cache)) {
            cache.meters().close();
            List<Gauge> removed = gauges.remove(cache.route());
            if (removed != null) {
                removed.forEach(registry::remove);
            }
        }
    }

    /** Whether there is a cache for a route. */
    public boolean has(String route) {
        return current.containsKey(route);
    }

    /** Whether there is none. */
    public boolean isEmpty() {
        return current.isEmpty();
    }

    /**
     * Removes the responses of some models; returns how many there were.
     *
     * @param models keys of routes, and names by which servers call models
     */
    public long purge(Set<String> models) {
        long removed = 0;
        for (ResponseCache each : new ArrayList<>(current.values())) {
            removed += each.purge(models);
        }
        return removed;
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
}
