package dev.isthmus.gateway.settings;

import dev.isthmus.gateway.settings.ModelConfig.RampConfig;
import dev.isthmus.gateway.settings.ModelConfig.TargetConfig;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** What a reload begins anew or ends, beside the values that it changes: state that a gateway keeps while it runs. */
final class ConfigRestarts {
    private final GatewayConfig before;
    private final GatewayConfig after;
    private final List<String> restarts = new ArrayList<>();

    private ConfigRestarts(GatewayConfig before, GatewayConfig after) {
        this.before = before;
        this.after = after;
    }

    static List<String> of(GatewayConfig before, GatewayConfig after) {
        ConfigRestarts found = new ConfigRestarts(before, after);
        new TreeMap<>(before.upstreams()).forEach(found::upstream);
        new TreeMap<>(before.models()).forEach(found::model);
        return found.restarts;
    }

    private void upstream(String name, UpstreamConfig old) {
        UpstreamConfig next = after.upstreams().get(name);
        if (next != null && !(next.equals(old) && sameForAllUpstreams())) {
            restarts.add("upstream '" + name
                    + "': connections, health, ejections and the circuit breaker of its servers begin anew");
        }
    }

    /** Whether the settings of other sections, on which every upstream depends, are unchanged. */
    private boolean sameForAllUpstreams() {
        return before.limits().maxBodySize() == after.limits().maxBodySize()
                && before.headers().returned().equals(after.headers().returned());
    }

    private void model(String name, ModelConfig old) {
        ModelConfig next = after.models().get(name);
        if (next == null) {
            return;
        }
        if (!old.rates().isEmpty()
                && !next.rates().isEmpty()
                && !old.rates().equals(next.rates())
                && after.shared() == null) {
            restarts.add("model '" + name + "': its rate limits begin anew");
        }
        RampConfig ramp = old.ramp();
        if (ramp != null) {
            ramp("model '" + name + "': ramp: ", ramp, old, next);
        }
    }

    private void ramp(String what, RampConfig ramp, ModelConfig old, ModelConfig next) {
        RampConfig nextRamp = next.ramp();
        if (nextRamp == null) {
            restarts.add(what + "ends, also if it is rolled back; its target gets its configured weight");
        } else if (!sameTarget(target(old, ramp), target(next, nextRamp))) {
            restarts.add(
                    what + "begins again at " + Units.share(nextRamp.steps().getFirst())
                            + ", also if it is rolled back: its target is another one");
        } else if (!ramp.steps().equals(nextRamp.steps())) {
            restarts.add(
                    what + "begins again at " + Units.share(nextRamp.steps().getFirst())
                            + ", unless it is rolled back or its share is one of the new steps: "
                            + nextRamp.steps().stream().map(Units::share).collect(Collectors.joining(", ")));
        }
    }

    private static Optional<TargetConfig> target(ModelConfig model, RampConfig ramp) {
        return model.allTargets().stream()
                .filter(each -> each.label().equals(ramp.target()))
                .findFirst();
    }

    /** A ramp's progress does not depend on the configured weight. */
    private static boolean sameTarget(Optional<TargetConfig> one, Optional<TargetConfig> other) {
        return one.isPresent()
                && other.isPresent()
                && one.get().label().equals(other.get().label())
                && one.get().upstream().equals(other.get().upstream())
                && Objects.equals(one.get().model(), other.get().model())
                && Objects.equals(one.get().version(), other.get().version());
    }
}
