package dev.isthmus.gateway.metrics;

import dev.isthmus.gateway.call.Service;
import dev.isthmus.oip.ModelRef;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.EnumMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** The meters of all calls. They outlive reloads; those of routes that are gone are taken out. */
public final class CallMetrics {
    /** The route of calls that name no model. */
    public static final String NO_MODEL = "none";

    /** How many models that are not configured have meters of their own: names that servers list are not bounded. */
    static final int MOST_NAMED = 200;

    private final MeterRegistry registry;
    private final LongSupplier nanoTime;
    private final Set<String> named = ConcurrentHashMap.newKeySet();
    private final Map<String, RouteMeters> routes = new ConcurrentHashMap<>();
    private final Map<ClientProtocol, LongAdder> underWay = new EnumMap<>(ClientProtocol.class);

    /** @param nanoTime as {@link System#nanoTime()} */
    public CallMetrics(MeterRegistry registry, LongSupplier nanoTime) {
        this.registry = registry;
        this.nanoTime = nanoTime;
        for (ClientProtocol protocol : ClientProtocol.values()) {
            LongAdder count = new LongAdder();
            underWay.put(protocol, count);
            Gauge.builder("isthmus.requests.under.way", count, LongAdder::sum)
                    .description("Concurrent calls")
                    .tag("protocol", protocol.label())
                    .register(registry);
        }
    }

    /** How many calls have begun and not ended. */
    public long underWay() {
        return underWay.values().stream().mapToLong(LongAdder::sum).sum();
    }

    /**
     * Measures the calls of a handler.
     *
     * @param routeKeys the configured key of a model's route, out of a set that the configuration bounds
     * @param ended called when a call has ended, exactly once for each, on its loop
     */
    public Service around(
            Service handler, ClientProtocol protocol, Function<ModelRef, String> routeKeys, Runnable ended) {
        LongAdder count = underWay.computeIfAbsent(protocol, each -> new LongAdder());
        return new MetricsService(
                handler,
                operation -> route(routeKeys, OperationKind.model(operation)).of(protocol, OperationKind.of(operation)),
                count,
                nanoTime,
                ended);
    }

    private RouteMeters route(Function<ModelRef, String> keys, @Nullable ModelRef model) {
        String key = model == null ? NO_MODEL : keys.apply(model);
        RouteMeters known = routes.get(key);
        return known == null ? routes.computeIfAbsent(key, each -> new RouteMeters(registry, each)) : known;
    }

    /**
     * The key of a model that a server lists and the configuration does not name: its own name, for the first of them.
     *
     * @param otherwise the key of all others
     */
    public String named(String model, String otherwise) {
        if (named.contains(model)) {
            return model;
        }
        // Two at once may add one more each; that is as good.
        return named.size() < MOST_NAMED && named.add(model) ? model : otherwise;
    }

    /** Takes out the meters of all routes but these and those that no configuration names. */
    public void retain(Set<String> keys) {
        routes.entrySet().removeIf(each -> {
            boolean gone = !keys.contains(each.getKey())
                    && !named.contains(each.getKey())
                    && !each.getKey().equals(NO_MODEL);
            if (gone) {
                each.getValue().close();
            }
            return gone;
        });
    }
}
