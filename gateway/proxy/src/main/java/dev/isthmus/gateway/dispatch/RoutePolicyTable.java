package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.limit.Admission;
import dev.isthmus.gateway.limit.RateLimits;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.gateway.metrics.TargetMeters;
import dev.isthmus.gateway.ramp.RampPlan;
import dev.isthmus.gateway.ramp.Ramps;
import dev.isthmus.gateway.ramp.TargetWeights;
import dev.isthmus.gateway.routing.Route;
import dev.isthmus.gateway.routing.RoutingTable;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.shadow.ShadowRuntime;
import dev.isthmus.gateway.shadow.Shadows;
import dev.isthmus.transcoder.Transcoder;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * What the calls of each route have in common beside where they go: limits, shadows, ramps; and how many calls there may be.
 * For all event loops.
 */
public final class RoutePolicyTable implements AutoCloseable {
    private final PolicyResources ground;
    private final int maxRequests;
    private final Admission admission;
    private final Map<String, RoutePolicies> byRoute = new HashMap<>();
    private final Map<Route, RoutePolicies> unconfigured = new ConcurrentHashMap<>();
    private final Map<RampPlan, TargetWeights> plans = new HashMap<>();

    /** What all configurations of a gateway share. */
    public record PolicyResources(
            MeterRegistry meters, LongSupplier nanoTime, ShadowRuntime shadows, Ramps ramps, MemoryBudget memory) {}

    /** What belongs to one route. */
    record RoutePolicies(
            ModelConfig config,
            @Nullable RateLimits limits,
            Shadows shadows,
            boolean ramped,
            @Nullable TargetMeters targets) {
        static final RoutePolicies NOTHING = new RoutePolicies(ModelConfig.DEFAULT, null, Shadows.NONE, false, null);
    }

    /**
     * The traffic of a routing table.
     *
     * @param before that of the configuration before: what has been used up of a limit which is still there stays so
     */
    public RoutePolicyTable(
            RoutingTable routes,
            int maxRequests,
            Transcoder transcoder,
            PolicyResources ground,
            @Nullable RoutePolicyTable before) {
        this.ground = ground;
        this.maxRequests = maxRequests;
        this.admission = before != null && before.maxRequests == maxRequests
                ? before.admission
                : new Admission(maxRequests, ground.meters());
        for (Route route : routes.routes()) {
            ModelConfig config = route.config();
            Shadows shadows = Shadows.of(route.key(), config.shadow(), route::shadows, transcoder, ground.shadows());
            boolean ramped = config.ramp() != null;
            byRoute.put(
                    route.key(),
                    new RoutePolicies(config, limits(route, before), shadows, ramped, targets(route, before)));
            plan(route);
        }
    }

    private @Nullable RateLimits limits(Route route, @Nullable RoutePolicyTable before) {
        List<ModelConfig.Rate> rates = route.config().rates();
        if (rates.isEmpty()) {
            return null;
        }
        RoutePolicies old = before == null
                ? RoutePolicies.NOTHING
                : before.byRoute.getOrDefault(route.key(), RoutePolicies.NOTHING);
        return old.limits != null && old.config.rates().equals(rates)
                ? old.limits
                : new RateLimits(route.key(), rates, ground.nanoTime(), ground.meters());
    }

    /** Counts go on where a reload leaves the targets as they were. */
    private TargetMeters targets(Route route, @Nullable RoutePolicyTable before) {
        ModelConfig config = route.config();
        boolean timed = config.ramp() != null;
        RoutePolicies old = before == null
                ? RoutePolicies.NOTHING
                : before.byRoute.getOrDefault(route.key(), RoutePolicies.NOTHING);
        boolean same = old.config.allTargets().equals(config.allTargets()) && old.ramped == timed;
        if (old.targets != null && same) {
            return old.targets;
        }
        List<TargetMeters.TargetLabels> labels = config.allTargets().stream()
                .map(each -> new TargetMeters.TargetLabels(
                        each.label(), each.upstream(), Objects.requireNonNullElse(each.version(), "")))
                .toList();
        return new TargetMeters(ground.meters(), ground.nanoTime(), route.key(), labels, timed);
    }

    private void plan(Route route) {
        ModelConfig.RampConfig ramp = route.config().ramp();
        if (ramp == null) {
            return;
        }
        for (ModelConfig.TargetConfig target : route.config().allTargets()) {
            if (target.label().equals(ramp.target())) {
                plans.put(new RampPlan(route.key(), target, ramp), route.split()::override);
            }
        }
    }

    /** Of the default upstream's route, and of those to upstreams that discover their models. */
    private RoutePolicies unconfigured(Route route) {
        return new RoutePolicies(route.config(), null, Shadows.NONE, false, targets(route, null));
    }

    /** Begins: its ramps are those that go on. Just before its routes are the ones that count. */
    public void install() {
        ground.ramps().install(plans);
    }

    Admission admission() {
        return admission;
    }

    Ramps ramps() {
        return ground.ramps();
    }

    LongSupplier nanoTime() {
        return ground.nanoTime();
    }

    RoutePolicies of(Route route) {
        RoutePolicies configured = byRoute.get(route.key());
        return configured == null ? unconfigured.computeIfAbsent(route, this::unconfigured) : configured;
    }

    /** Ends; what the next one has taken over goes on. */
    public void closeBut(@Nullable RoutePolicyTable next) {
        for (RoutePolicies of : byRoute.values()) {
            of.shadows.close();
            boolean taken = next != null && next.byRoute.values().stream().anyMatch(other -> other.limits == of.limits);
            if (of.limits != null && !taken) {
                of.limits.close();
            }
            boolean counted =
                    next != null && next.byRoute.values().stream().anyMatch(other -> other.targets == of.targets);
            if (of.targets != null && !counted) {
                of.targets.close();
            }
        }
        unconfigured.values().forEach(of -> Objects.requireNonNull(of.targets).close());
        if (next == null || next.admission != admission) {
            admission.close();
        }
    }

    @Override
    public void close() {
        closeBut(null);
    }
}
