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

/** The meters of all calls. They outlive reloads; those of routes that are gone are taken out. */
public final class CallMetrics implements CallObserver {
    /** How many models that are not configured have meters of their own: names that servers list are not bounded. */
    static final int MOST_NAMED = 200;

    private final MeterRegistry registry;
    private final Set<String> named = ConcurrentHashMap.newKeySet();
    private final Map<String, RouteMeters> routes = new ConcurrentHashMap<>();
    private final Map<ClientProtocol, LongAdder> underWay = new EnumMap<>(ClientProtocol.class);

    /** @param registry gets the meters as they are first needed */
    public CallMetrics(MeterRegistry registry) {
        this.registry = registry;
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
        return underWay.computeIfAbsent(protocol, each -> new LongAdder());
    }

    private RouteMeters route(String key) {
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
                    && !each.getKey().equals(CallContext.NO_ROUTE);
            if (gone) {
                each.getValue().close();
            }
            return gone;
        });
    }
}
