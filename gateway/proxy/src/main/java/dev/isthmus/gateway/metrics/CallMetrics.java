package dev.isthmus.gateway.metrics;

import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.CallObserver;
import dev.isthmus.gateway.call.ClientProtocol;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.EnumMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/** The meters of all calls. They outlive reloads; those of removed routes are unregistered. */
public final class CallMetrics implements CallObserver {
    /** How many unconfigured models get meters of their own; the number of names that servers list is unbounded. */
    static final int MAX_NAMED = 200;

    private final MeterRegistry registry;
    private final Set<String> named = ConcurrentHashMap.newKeySet();
    private final Map<String, RouteMeters> routes = new ConcurrentHashMap<>();
    private final Map<ClientProtocol, LongAdder> active = new EnumMap<>(ClientProtocol.class);

    /** @param registry where meters are registered when they are first needed */
    public CallMetrics(MeterRegistry registry) {
        this.registry = registry;
        for (ClientProtocol protocol : ClientProtocol.values()) {
            LongAdder count = new LongAdder();
            active.put(protocol, count);
            Gauge.builder("isthmus.requests.under.way", count, LongAdder::sum)
                    .description("Concurrent calls")
                    .tag("protocol", protocol.label())
                    .register(registry);
        }
    }

    /** Number of calls in flight. */
    public long inFlight() {
        return active.values().stream().mapToLong(LongAdder::sum).sum();
    }

    @Override
    public void began(CallContext call) {
        ClientProtocol protocol = call.protocol();
        if (protocol != null) {
            active(protocol).increment();
        }
    }

    @Override
    public void ended(CallContext call) {
        ClientProtocol protocol = call.protocol();
        if (protocol != null) {
            active(protocol).decrement();
            route(call.route()).of(protocol, OperationKind.of(call.operation())).ended(call);
        }
    }

    private LongAdder active(ClientProtocol protocol) {
        return active.computeIfAbsent(protocol, each -> new LongAdder());
    }

    private RouteMeters route(String key) {
        RouteMeters existing = routes.get(key);
        return existing == null ? routes.computeIfAbsent(key, each -> new RouteMeters(registry, each)) : existing;
    }

    /**
     * The key of a model that a server lists and the configuration does not name: its own name for the first of them,
     * the shared key for the rest.
     *
     * @param otherwise the shared key
     */
    public String named(String model, String otherwise) {
        if (named.contains(model)) {
            return model;
        }
        // A race may exceed the limit by a few names, which is harmless.
        return named.size() < MAX_NAMED && named.add(model) ? model : otherwise;
    }

    /**
     * Unregisters the meters of all routes except these, those of unconfigured models, and {@link
     * CallContext#NO_ROUTE}.
     */
    public void retain(Set<String> keys) {
        routes.entrySet().removeIf(each -> {
            boolean removed = !keys.contains(each.getKey())
                    && !named.contains(each.getKey())
                    && !each.getKey().equals(CallContext.NO_ROUTE);
            if (removed) {
                each.getValue().close();
            }
            return removed;
        });
    }
}
