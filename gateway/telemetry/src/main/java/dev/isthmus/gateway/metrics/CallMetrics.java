package dev.isthmus.gateway.metrics;

import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.ClientProtocol;
import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.Layer;
import dev.isthmus.gateway.call.OperationKind;
import dev.isthmus.gateway.settings.MetricsConfig;
import dev.isthmus.oip.ErrorCode;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/** The meters of all calls. They outlive reloads; those of removed routes are unregistered. */
public final class CallMetrics implements Layer {
    /** How many unconfigured models get meters of their own; the number of names that servers list is unbounded. */
    static final int MAX_NAMED = 200;
    /** How many time series the meters of calls may have; beyond it calls are counted for {@link #OTHER}. */
    private static final int MAX_SERIES = MetricsConfig.DEFAULT.maxSeries();

    private static final List<Duration> BUCKETS = List.of(OperationMeters.BUCKETS);
    /** The route of calls for unknown models, and of those beyond the limit. Its own series have no limit. */
    static final String OTHER = "other";

    private final MeterRegistry registry;
    private final SeriesBudget budget;
    private final RouteMeters other;
    private final Map<ErrorCode, Counter> refused;
    private final Counter overflow;
    private final Set<String> named = ConcurrentHashMap.newKeySet();
    private final Map<String, RouteMeters> routes = new ConcurrentHashMap<>();
    private final LongAdder[] active = new LongAdder[ClientProtocol.values().length];

    /** @param registry where meters are registered when they are first needed */
    public CallMetrics(MeterRegistry registry) {
        this(registry, MAX_SERIES);
    }

    /** @param maxSeries how many time series the meters of calls may have */
    @SuppressWarnings("EnumOrdinal") // indexes an array that lives as long as the enum
    CallMetrics(MeterRegistry registry, int maxSeries) {
        this.registry = registry;
        budget = new SeriesBudget(maxSeries);
        other = new RouteMeters(registry, new SeriesBudget(Integer.MAX_VALUE), OTHER);
        routes.put(OTHER, other);
        Gauge.builder("isthmus.metrics.series", budget, SeriesBudget::used)
                .description("Time series of the meters of calls")
                .register(registry);
        Gauge.builder("isthmus.metrics.series.limit", budget, SeriesBudget::limit)
                .description("How many time series the meters of calls may have; calls beyond it have model=other")
                .register(registry);
        overflow = Counter.builder("isthmus.metrics.overflow")
                .description("Calls counted with model=other because the meters of calls have too many time series")
                .register(registry);
        refused = LabelledCounters.of(
                ErrorCode.class,
                code -> Counter.builder("isthmus.requests.refused")
                        .description("Calls that failed without being sent to a server, by error")
                        .tag("code", code.name())
                        .register(registry));
        for (ClientProtocol protocol : ClientProtocol.values()) {
            active[protocol.ordinal()] = new LongAdder();
            Gauge.builder("isthmus.requests.under.way", active(protocol), LongAdder::sum)
                    .description("Concurrent calls")
                    .tag("protocol", protocol.label())
                    .register(registry);
        }
    }

    /** The upper bounds of the buckets of call durations. */
    public static List<Duration> buckets() {
        return BUCKETS;
    }

    /** How many time series the meters may have from now on; those that exist stay. */
    public void limit(int maxSeries) {
        budget.limit(maxSeries);
    }

    /** Number of calls in flight. */
    public long inFlight() {
        return Arrays.stream(active).mapToLong(LongAdder::sum).sum();
    }

    @Override
    public String name() {
        return "call_metrics";
    }

    @Override
    public void began(Exchange exchange) {
        ClientProtocol protocol = exchange.context().protocol();
        if (protocol != null) {
            active(protocol).increment();
        }
    }

    @Override
    public void opened(Exchange exchange) {
        CallContext call = exchange.context();
        if (call.protocol() != null) {
            route(call.route()).began();
        }
    }

    @Override
    public void ended(Exchange exchange) {
        CallContext call = exchange.context();
        ClientProtocol protocol = call.protocol();
        if (protocol == null) {
            return;
        }
        active(protocol).decrement();
        route(call.route()).ended();
        count(call, protocol);
    }

    /** A message is a request of its own. */
    @Override
    public void messageEnded(Exchange exchange) {
        CallContext message = exchange.context();
        if (message.protocol() != null) {
            count(message, message.protocol());
        }
    }

    private void count(CallContext call, ClientProtocol protocol) {
        OperationKind kind = OperationKind.of(call.operation());
        if (!ended(call, route(call.route()).of(protocol, kind))) {
            overflow.increment();
            ended(call, other.of(protocol, kind));
        }
        ErrorCode code = call.code();
        if (code != null && code != ErrorCode.CANCELLED && call.upstream().isEmpty()) {
            LabelledCounters.increment(refused, code);
        }
    }

    private static boolean ended(CallContext call, @Nullable OperationMeters meters) {
        return meters != null && meters.ended(call);
    }

    @SuppressWarnings("EnumOrdinal") // as above
    private LongAdder active(ClientProtocol protocol) {
        return active[protocol.ordinal()];
    }

    private RouteMeters route(String key) {
        RouteMeters existing = routes.get(key);
        return existing == null
                ? routes.computeIfAbsent(key, each -> new RouteMeters(registry, budget, each))
                : existing;
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
     * Unregisters the meters of all routes except these, those of unconfigured models, {@link CallContext#NO_ROUTE}
     * and {@link #OTHER}.
     */
    public void retain(Set<String> keys) {
        routes.entrySet().removeIf(each -> {
            boolean removed = !keys.contains(each.getKey())
                    && !named.contains(each.getKey())
                    && !each.getKey().equals(CallContext.NO_ROUTE)
                    && !each.getKey().equals(OTHER);
            if (removed) {
                each.getValue().close();
            }
            return removed;
        });
    }

    /** The meters of one route, created when they are first needed. Thread-safe. */
    static final class RouteMeters {
        private static final int KINDS = OperationKind.values().length;

        private final MeterRegistry registry;
        private final SeriesBudget budget;
        private final String route;
        private final LongAdder inFlight = new LongAdder();
        private final @Nullable Gauge gauge;
        private final AtomicReferenceArray<@Nullable OperationMeters> meters =
                new AtomicReferenceArray<>(ClientProtocol.values().length * KINDS);

        RouteMeters(MeterRegistry registry, SeriesBudget budget, String route) {
            this.registry = registry;
            this.budget = budget;
            this.route = route;
            this.gauge = budget.take(1)
                    ? Gauge.builder("isthmus.model.requests.under.way", inFlight, calls -> Math.max(0, calls.sum()))
                            .description("Concurrent calls for the model")
                            .tag("model", route)
                            .register(registry)
                    : null;
        }

        void began() {
            inFlight.increment();
        }

        void ended() {
            inFlight.decrement();
        }

        /** Null if there may be no more time series. */
        @Nullable
        @SuppressWarnings("EnumOrdinal") // indexes an array that lives as long as the enums
        OperationMeters of(ClientProtocol protocol, OperationKind kind) {
            int index = protocol.ordinal() * KINDS + kind.ordinal();
            OperationMeters existing = meters.get(index);
            return existing == null ? make(index, protocol, kind) : existing;
        }

        private synchronized @Nullable OperationMeters make(int index, ClientProtocol protocol, OperationKind kind) {
            OperationMeters existing = meters.get(index);
            if (existing == null && budget.take(OperationMeters.SERIES)) {
                existing = new OperationMeters(
                        registry,
                        budget,
                        Tags.of("protocol", protocol.label(), "operation", kind.label(), "model", route));
                meters.set(index, existing);
            }
            return existing;
        }

        synchronized void close() {
            if (gauge != null) {
                registry.remove(gauge);
                budget.release(1);
            }
            for (int i = 0; i < meters.length(); i++) {
                OperationMeters existing = meters.get(i);
                if (existing != null) {
                    existing.close();
                }
            }
        }
    }
}
