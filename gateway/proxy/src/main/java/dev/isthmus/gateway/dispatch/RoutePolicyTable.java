package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.batching.RouteBatching;
import dev.isthmus.gateway.cache.ResponseCache;
import dev.isthmus.gateway.cache.ResponseCaches;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.Layer;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Slot;
import dev.isthmus.gateway.extension.Extension;
import dev.isthmus.gateway.fallback.RouteFallback;
import dev.isthmus.gateway.limit.Admission;
import dev.isthmus.gateway.limit.RateCounters;
import dev.isthmus.gateway.limit.RateLimits;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.gateway.metrics.TargetMeters;
import dev.isthmus.gateway.ramp.RampPlan;
import dev.isthmus.gateway.ramp.Ramps;
import dev.isthmus.gateway.ramp.TargetWeights;
import dev.isthmus.gateway.routing.Route;
import dev.isthmus.gateway.routing.RoutingTable;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.settings.BatchingConfig;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.shadow.ShadowRuntime;
import dev.isthmus.gateway.shadow.Shadows;
import dev.isthmus.gateway.upstream.RouteService;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.Transcoder;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The policies of each route beside its targets: rate limits, shadows, ramps, batching; and the limit on concurrent calls.
 * Thread-safe.
 */
public final class RoutePolicyTable implements AutoCloseable {
    private final PolicyResources resources;
    private final Admission admission;
    private final Map<String, RoutePolicies> byRoute = new HashMap<>();
    private final Map<Route, RoutePolicies> unconfigured = new ConcurrentHashMap<>();
    private final Map<RampPlan, TargetWeights> plans = new HashMap<>();

    /** Resources shared by all configurations of a gateway. */
    public record PolicyResources(
            MeterRegistry meters,
            LongSupplier nanoTime,
            ShadowRuntime shadows,
            Ramps ramps,
            MemoryBudget memory,
            RateCounters counters,
            ResponseCaches caches) {

        /** Resources whose caches are empty. */
        public PolicyResources(
                MeterRegistry meters,
                LongSupplier nanoTime,
                ShadowRuntime shadows,
                Ramps ramps,
                MemoryBudget memory,
                RateCounters counters) {
            this(meters, nanoTime, shadows, ramps, memory, counters, new ResponseCaches(meters, nanoTime));
        }
    }

    /** The policies of one route. */
    record RoutePolicies(
            ModelConfig config,
            @Nullable RateLimits limits,
            @Nullable TargetMeters targets,
            @Nullable ResponseCache cache,
            List<RouteService> services,
            List<Upstream> upstreams) {
        static final RoutePolicies NOTHING =
                new RoutePolicies(ModelConfig.DEFAULT, null, null, null, List.of(), List.of());
    }

    /**
     * Creates the policies for a routing table.
     *
     * @param previous the table of the previous configuration: the usage of unchanged limits is carried over
     */
    public RoutePolicyTable(
            RoutingTable routes,
            Admission.ConcurrencyLimits limits,
            Transcoder transcoder,
            PolicyResources resources,
            @Nullable RoutePolicyTable previous) {
        this.resources = resources;
        this.admission = previous != null && previous.admission.limits().equals(limits)
                ? previous.admission
                : new Admission(limits, resources.meters());
        for (Route route : routes.routes()) {
            ModelConfig config = route.config();
            ResponseCache cache = cache(route, previous);
            List<RouteService> services = services(route, cache, transcoder);
            route.serve(services);
            byRoute.put(
                    route.key(),
                    new RoutePolicies(
                            config,
                            limits(route, previous),
                            targets(route, previous),
                            cache,
                            services,
                            route.upstreams()));
            plan(route, cache);
        }
    }

    /** The policies of a route in the table of another configuration. */
    private static RoutePolicies in(@Nullable RoutePolicyTable table, String route) {
        return table == null ? RoutePolicies.NOTHING : table.byRoute.getOrDefault(route, RoutePolicies.NOTHING);
    }

    private @Nullable RateLimits limits(Route route, @Nullable RoutePolicyTable previous) {
        List<ModelConfig.Rate> rates = route.config().rates();
        if (rates.isEmpty()) {
            return null;
        }
        RoutePolicies old = in(previous, route.key());
        return old.limits != null && old.config.rates().equals(rates)
                ? old.limits
                : new RateLimits(route.key(), rates, resources.counters(), resources.nanoTime(), resources.meters());
    }

    /** What a route does with inferences, the outermost first. What is not configured is not in the list. */
    private List<RouteService> services(Route route, @Nullable ResponseCache cache, Transcoder transcoder) {
        return Stream.<@Nullable RouteService>of(
                        route.config().fallback() == null ? null : new RouteFallback(route),
                        shadows(route, transcoder),
                        cache,
                        batching(route, transcoder))
                .filter(Objects::nonNull)
                .toList();
    }

    private @Nullable RouteService shadows(Route route, Transcoder transcoder) {
        List<ModelConfig.ShadowConfig> configs = route.config().shadow();
        return configs.isEmpty()
                ? null
                : Shadows.of(route.key(), configs, route::shadows, transcoder, resources.shadows());
    }

    private @Nullable RouteService batching(Route route, Transcoder transcoder) {
        BatchingConfig config = route.config().batching();
        return config == null
                ? null
                : new RouteBatching(
                        route.key(),
                        config,
                        transcoder.limits(),
                        resources.memory(),
                        resources.meters(),
                        resources.nanoTime());
    }

    /** Responses are kept over a reload that changes neither the route nor its upstreams. */
    private @Nullable ResponseCache cache(Route route, @Nullable RoutePolicyTable previous) {
        ModelConfig config = route.config();
        if (config.cache() == null || !config.deterministic()) {
            return null;
        }
        RoutePolicies old = in(previous, route.key());
        boolean same = old.config.equals(config) && old.upstreams.equals(route.upstreams());
        return old.cache != null && same ? old.cache : resources.caches().open(route.key(), config.cache());
    }

    /** Counters continue if a reload leaves the targets unchanged. */
    private TargetMeters targets(Route route, @Nullable RoutePolicyTable previous) {
        ModelConfig config = route.config();
        boolean timed = config.ramp() != null;
        RoutePolicies old = in(previous, route.key());
        boolean same = old.config.allTargets().equals(config.allTargets()) && (old.config.ramp() != null) == timed;
        if (old.targets != null && same) {
            return old.targets;
        }
        List<TargetMeters.TargetLabels> labels = config.allTargets().stream()
                .map(each -> new TargetMeters.TargetLabels(
                        each.label(), each.upstream(), Objects.requireNonNullElse(each.version(), "")))
                .toList();
        return new TargetMeters(resources.meters(), resources.nanoTime(), route.key(), labels, timed);
    }

    private void plan(Route route, @Nullable ResponseCache cache) {
        ModelConfig.RampConfig ramp = route.config().ramp();
        if (ramp == null) {
            return;
        }
        for (ModelConfig.TargetConfig target : route.config().allTargets()) {
            if (target.label().equals(ramp.target())) {
                TargetWeights weights = route.split()::override;
                plans.put(new RampPlan(route.key(), target, ramp), cache == null ? weights : purging(cache, weights));
            }
        }
    }

    /** A changed share makes another mix of responses: those of the one before are removed. */
    private static TargetWeights purging(ResponseCache cache, TargetWeights weights) {
        return (arm, share) -> {
            weights.override(arm, share);
            cache.purge();
        };
    }

    /** The policies of the default upstream's route, and of routes to upstreams that discover their models. */
    private RoutePolicies unconfigured(Route route) {
        return new RoutePolicies(route.config(), null, targets(route, null), null, List.of(), route.upstreams());
    }

    /** Activates the ramps and caches of this table. Called just before its routes become active. */
    public void install() {
        resources.ramps().install(plans);
        for (RoutePolicies each : byRoute.values()) {
            if (each.cache != null) {
                resources.caches().install(each.cache);
            }
        }
    }

    Admission admission() {
        return admission;
    }

    ResponseCaches caches() {
        return resources.caches();
    }

    Ramps ramps() {
        return resources.ramps();
    }

    LongSupplier nanoTime() {
        return resources.nanoTime();
    }

    RoutePolicies of(Route route) {
        RoutePolicies configured = byRoute.get(route.key());
        return configured == null ? unconfigured.computeIfAbsent(route, this::unconfigured) : configured;
    }

    /** Models of these upstreams were loaded or have changed. */
    public void modelsChanged(Set<Upstream> upstreams) {
        byRoute.values().forEach(each -> each.services.forEach(service -> service.modelsChanged(upstreams)));
    }

    /** Closes everything except what the next table has taken over. */
    public void closeBut(@Nullable RoutePolicyTable next) {
        byRoute.forEach((route, each) -> {
            // A table takes over what the previous one had for the same route.
            RoutePolicies kept = in(next, route);
            if (each.limits != null && kept.limits != each.limits) {
                each.limits.close();
            }
            if (each.targets != null && kept.targets != each.targets) {
                each.targets.close();
            }
            for (RouteService service : each.services) {
                if (service != kept.cache) {
                    service.close();
                }
            }
        });
        unconfigured
                .values()
                .forEach(each -> Objects.requireNonNull(each.targets).close());
        if (next == null || next.admission != admission) {
            admission.close();
        }
    }

    @Override
    public void close() {
        closeBut(null);
    }

    /** The layer that counts the requests of each target, by their outcome. */
    static final class TargetMetering implements Layer {
        @Override
        public String name() {
            return "target_metrics";
        }

        @Override
        public void targetEnded(Exchange exchange, @Nullable OipException failure) {
            TargetMeters.TargetMeter meter = meter(exchange);
            if (meter != null) {
                meter.ended(failure == null ? null : failure.code());
            }
        }

        /** The meter of the chosen target; null if there is none. */
        static TargetMeters.@Nullable TargetMeter meter(Exchange exchange) {
            RoutedCall routed = RoutedCall.in(exchange);
            Target target = routed == null ? null : routed.target();
            TargetMeters meters = routed == null ? null : routed.policies().targets();
            return target == null || meters == null ? null : meters.of(target.arm());
        }
    }

    /** The layer that counts requests, and their bytes, on the rate limits of their route. */
    static final class RateLimiting implements Layer {
        private static final Slot<RateLimits.Charge> CHARGE = new Slot<>();

        @Override
        public String name() {
            return "rate_limits";
        }

        @Override
        public @Nullable CompletableFuture<?> open(Exchange exchange) {
            RoutedCall routed = RoutedCall.in(exchange);
            RateLimits limits = routed == null ? null : routed.policies().limits();
            if (limits == null) {
                return null;
            }
            RateLimits.Charge charge = limits.request(
                    exchange.call().client()::value,
                    exchange.context().principal().name());
            exchange.put(CHARGE, charge);
            return charge.undecided();
        }

        @Override
        public @Nullable CompletableFuture<?> sized(Exchange exchange, long length) {
            RateLimits.Charge charge = exchange.get(CHARGE);
            if (charge == null) {
                return null;
            }
            charge.body(length);
            return charge.undecided();
        }
    }

    /**
     * The layer that removes the cached responses of a model that was loaded or unloaded, before the client of that call has
     * its response; also if it has failed, as some servers may have changed.
     */
    record CachePurging(ResponseCaches caches, RoutingTable routes) implements Layer {
        @Override
        public String name() {
            return "cache_purge";
        }

        @Override
        public void finished(Exchange exchange) {
            CallContext call = exchange.context();
            if (call.operation() instanceof Operation.Manage manage
                    && (manage.extension() == Extension.REPOSITORY_LOAD
                            || manage.extension() == Extension.REPOSITORY_UNLOAD)
                    && call.code() != ErrorCode.UNAUTHENTICATED
                    && call.code() != ErrorCode.PERMISSION_DENIED) {
                caches.purge(routes.purgedNames(manage.model()));
            }
        }
    }
}
