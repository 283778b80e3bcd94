package dev.isthmus.gateway.metrics;

import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.ClientProtocol;
import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.Layer;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.OperationKind;
import dev.isthmus.gateway.call.Slot;
import dev.isthmus.gateway.settings.MetricsConfig;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.ObjectivesConfig;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.FailureCause;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.DoubleStream;
import org.jspecify.annotations.Nullable;

/** The meters of all calls. They outlive reloads; those of removed routes are unregistered. */
public final class CallMetrics implements Layer {
    /** The counters of calls that failed, by cause. */
    public static final String FAILED = "isthmus.requests.failed";
    /** How many unconfigured models get meters of their own; the number of names that servers list is unbounded. */
    static final int MAX_NAMED = 200;
    /** The upper bounds of the buckets of call durations, from half a millisecond to a minute. */
    public static final List<Duration> BUCKETS = DoubleStream.of(
                    0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000)
            .mapToObj(millis -> Duration.ofNanos((long) (millis * TimeUnit.MILLISECONDS.toNanos(1))))
            .toList();
    /** The time series of the sums: three phases of two, and two sums of bytes. */
    static final int SUMS_SERIES = 3 * 2 + 2;
    /** The time series of a timer: its buckets, that of infinity, count, sum and maximum. */
    static final int TIMER_SERIES = BUCKETS.size() + 4;
    /** The route of calls for unknown models, and of those beyond the limit. Its own series have no limit. */
    static final String OTHER = "other";
    /** What the objectives of a route are about. */
    private static final Set<OperationKind> INFERENCES = EnumSet.of(
            OperationKind.INFER, OperationKind.INFER_STREAM, OperationKind.GENERATE, OperationKind.GENERATE_STREAM);

    /** Where a call is under way. */
    private static final Slot<RouteMeters> COUNTED = new Slot<>();

    private final MeterRegistry registry;
    private final SeriesBudget budget;
    private final RouteMeters other;
    private final Map<FailureCause, Counter> failed;
    private final Counter overflow;
    private final Set<String> named = ConcurrentHashMap.newKeySet();
    private final Map<String, RouteMeters> routes = new ConcurrentHashMap<>();
    private final LongAdder ended = new LongAdder();
    private final LongAdder[] active = new LongAdder[ClientProtocol.values().length];

    /** @param registry where meters are registered when they are first needed */
    public CallMetrics(MeterRegistry registry) {
        this(registry, MetricsConfig.DEFAULT.maxSeries());
    }

    /** @param maxSeries how many time series the meters of calls may have */
    @SuppressWarnings("EnumOrdinal") // indexes an array that lives as long as the enum
    CallMetrics(MeterRegistry registry, int maxSeries) {
        this.registry = registry;
        budget = new SeriesBudget(maxSeries);
        other = new RouteMeters(registry, new SeriesBudget(Integer.MAX_VALUE), OTHER);
        routes.put(OTHER, other);
        Gauge.builder("isthmus.metrics.series", budget, each -> each.used.get())
                .description("Time series of the meters of calls")
                .register(registry);
        Gauge.builder("isthmus.metrics.series.limit", budget, each -> each.limit)
                .description("How many time series the meters of calls may have; calls beyond it have model=other")
                .register(registry);
        overflow = Counter.builder("isthmus.metrics.overflow")
                .description("Calls counted with model=other because the meters of calls have too many time series")
                .register(registry);
        failed = LabelledCounters.of(
                FailureCause.class,
                cause -> Counter.builder(FAILED)
                        .description("Calls that failed or were refused, by cause")
                        .tag("cause", cause.label())
                        .register(registry));
        for (ClientProtocol protocol : ClientProtocol.values()) {
            active[protocol.ordinal()] = new LongAdder();
            Gauge.builder("isthmus.requests.under.way", active(protocol), LongAdder::sum)
                    .description("Concurrent calls")
                    .tag("protocol", protocol.label())
                    .register(registry);
        }
    }

    /** How many time series the meters may have from now on; those that exist stay. */
    public void limit(int maxSeries) {
        budget.limit(maxSeries);
    }

    /** The objectives of the routes with these keys from now on; the counters of a route whose objectives stay go on. */
    public void objectives(Map<String, ModelConfig> models) {
        models.forEach((key, model) -> {
            if (model.objectives() != null || routes.containsKey(key)) {
                route(key).objectives(model.objectives());
            }
        });
    }

    public long inFlight() {
        return Arrays.stream(active).mapToLong(LongAdder::sum).sum();
    }

    /** Number of calls that have ended, and of messages of streams. */
    public long ended() {
        return ended.sum();
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
        if (call.protocol() != null && !exchange.isFinished()) {
            RouteMeters route = route(call.route());
            route.inFlight.increment();
            exchange.put(COUNTED, route);
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
        RouteMeters counted = exchange.get(COUNTED);
        if (counted != null) {
            counted.inFlight.decrement();
        }
        count(call, protocol, route(call.route()));
    }

    /** A message is a request of its own. */
    @Override
    public void messageEnded(Exchange exchange) {
        CallContext message = exchange.context();
        if (message.protocol() != null) {
            count(message, message.protocol(), route(message.route()));
        }
    }

    private void count(CallContext call, ClientProtocol protocol, RouteMeters route) {
        ended.increment();
        OperationKind kind = OperationKind.of(call.operation());
        if (!route.count(call, protocol, kind)) {
            overflow.increment();
            other.count(call, protocol, kind);
        }
        if (call.cause() != null) {
            LabelledCounters.increment(failed, call.cause());
        }
        ObjectiveMeters objectives = route.objectives;
        if (objectives != null && INFERENCES.contains(kind)) {
            objectives.ended(call);
        }
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
        private volatile @Nullable ObjectiveMeters objectives;
        private final AtomicReferenceArray<@Nullable OperationMeters> meters =
                new AtomicReferenceArray<>(ClientProtocol.values().length * KINDS);

        RouteMeters(MeterRegistry registry, SeriesBudget budget, String route) {
            this.registry = registry;
            this.budget = budget;
            this.route = route;
            this.gauge = budget.take(1)
                    ? Gauge.builder("isthmus.model.requests.under.way", inFlight, LongAdder::sum)
                            .description("Concurrent calls for the model")
                            .tag("model", route)
                            .register(registry)
                    : null;
        }

        synchronized void objectives(@Nullable ObjectivesConfig wanted) {
            ObjectiveMeters before = objectives;
            if (!Objects.equals(wanted, before == null ? null : before.config)) {
                if (before != null) {
                    before.close();
                }
                // Counts anew.
                objectives = wanted == null ? null : new ObjectiveMeters(registry, route, wanted);
            }
        }

        /** Counts a call that has ended; false if there may be no time series for it. */
        @SuppressWarnings("EnumOrdinal") // indexes an array that lives as long as the enums
        boolean count(CallContext call, ClientProtocol protocol, OperationKind kind) {
            int index = protocol.ordinal() * KINDS + kind.ordinal();
            OperationMeters existing = meters.get(index);
            OperationMeters operation = existing == null ? make(index, protocol, kind) : existing;
            return operation != null && operation.ended(call);
        }

        private synchronized @Nullable OperationMeters make(int index, ClientProtocol protocol, OperationKind kind) {
            OperationMeters existing = meters.get(index);
            if (existing == null && budget.take(SUMS_SERIES)) {
                existing = new OperationMeters(
                        Tags.of("protocol", protocol.label(), "operation", kind.label(), "model", route));
                meters.set(index, existing);
            }
            return existing;
        }

        synchronized void close() {
            objectives(null);
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

        /** The meters of one operation over one protocol. Thread-safe. */
        private final class OperationMeters {
            /** The index of successful calls, after those of the error codes. */
            private static final int OK = ErrorCode.values().length;

            private final Tags tags;
            private final AtomicReferenceArray<@Nullable Timer> byCode = new AtomicReferenceArray<>(OK + 1);
            private final Phase reading = new Phase();
            private final Phase waiting = new Phase();
            private final Phase writing = new Phase();
            private final LongAdder requestBytes = new LongAdder();
            private final LongAdder responseBytes = new LongAdder();
            private final List<Meter> registered; // guarded by this
            private int series = SUMS_SERIES;
            private boolean closed;

            /** The {@link #SUMS_SERIES} were taken from the budget. */
            OperationMeters(Tags tags) {
                this.tags = tags;
                this.registered = new ArrayList<>(List.of(
                        register("read", reading),
                        register("upstream", waiting),
                        register("write", writing),
                        register("isthmus.request.bytes", "Bodies of requests, uncompressed", requestBytes),
                        register(
                                "isthmus.response.bytes",
                                "Bodies of responses, uncompressed; 0 for health and metadata",
                                responseBytes)));
            }

            /** A sum and a count, enough for a mean, at the cost of two additions per call. */
            private static final class Phase {
                private final LongAdder calls = new LongAdder();
                private final LongAdder nanos = new LongAdder();

                void record(long took) {
                    if (took >= 0) {
                        calls.increment();
                        nanos.add(took);
                    }
                }
            }

            private Meter register(String name, Phase phase) {
                return FunctionTimer.builder(
                                "isthmus.request.phase",
                                phase,
                                p -> p.calls.sum(),
                                p -> p.nanos.sum(),
                                TimeUnit.NANOSECONDS)
                        .description(
                                "Phases of a call. read: until the body is complete (0 for unary gRPC); upstream: from then to the first"
                                        + " response or the failure, with transcoding, waits and attempts; write: from then to the end"
                                        + " of the response")
                        .tags(tags.and("phase", name))
                        .register(registry);
            }

            private Meter register(String name, String description, LongAdder bytes) {
                return FunctionCounter.builder(name, bytes, LongAdder::sum)
                        .description(description)
                        .tags(tags)
                        .register(registry);
            }

            boolean ended(CallContext call) {
                Timer timer = timer(call.code());
                if (timer == null) {
                    return false;
                }
                ExemplarSpan.record(timer, call.totalNanos(), call.span());
                if (!(call.operation() instanceof Operation.InferStream)) {
                    // Its messages have them.
                    requestBytes.add(call.requestBytes());
                    responseBytes.add(call.responseBytes());
                }
                reading.record(call.requestNanos());
                waiting.record(call.upstreamNanos());
                writing.record(call.responseWriteNanos());
                return true;
            }

            @SuppressWarnings("EnumOrdinal") // indexes an array that lives as long as the enum
            private @Nullable Timer timer(@Nullable ErrorCode code) {
                int index = code == null ? OK : code.ordinal();
                Timer existing = byCode.get(index);
                return existing == null ? register(index, code) : existing;
            }

            private synchronized @Nullable Timer register(int index, @Nullable ErrorCode code) {
                Timer existing = byCode.get(index);
                if (existing != null) {
                    return existing;
                }
                if (closed || !budget.take(TIMER_SERIES)) {
                    return null;
                }
                series += TIMER_SERIES;
                Timer timer = Timer.builder("isthmus.requests")
                        .description("Duration of calls, from the head of the request to the end of the response")
                        .tags(tags.and("code", code == null ? "OK" : code.name()))
                        .serviceLevelObjectives(BUCKETS.toArray(Duration[]::new))
                        .register(registry);
                byCode.set(index, timer);
                registered.add(timer);
                return timer;
            }

            /** Unregisters the meters of a removed route. */
            synchronized void close() {
                closed = true;
                registered.forEach(registry::remove);
                budget.release(series);
                series = 0;
            }
        }
    }

    /** How many time series the meters of calls may still have. Thread-safe. */
    static final class SeriesBudget {
        private volatile int limit;
        private final AtomicInteger used = new AtomicInteger();

        SeriesBudget(int limit) {
            this.limit = limit;
        }

        /** Takes this many series; false if the limit does not allow them. */
        boolean take(int series) {
            int most = limit;
            return used.getAndUpdate(now -> now + series <= most ? now + series : now) + series <= most;
        }

        /** Returns series that are no longer exported. */
        void release(int series) {
            used.addAndGet(-series);
        }

        void limit(int series) {
            limit = series;
        }

        int used() {
            return used.get();
        }
    }
}
