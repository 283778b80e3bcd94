package dev.isthmus.gateway.settings;

import dev.isthmus.gateway.settings.ModelConfig.RampConfig;
import dev.isthmus.gateway.settings.ModelConfig.TargetConfig;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * What a reload does, beside changing values: to sockets, connections, and the state that a gateway keeps while it runs.
 * It says what {@code Listeners}, {@code Upstreams}, {@code Authenticator} and {@code Ramps} do.
 */
final class ReloadEffects {
    private final GatewayConfig before;
    private final GatewayConfig after;
    private final List<String> effects = new ArrayList<>();

    private ReloadEffects(GatewayConfig before, GatewayConfig after) {
        this.before = before;
        this.after = after;
    }

    static List<String> of(GatewayConfig before, GatewayConfig after) {
        ReloadEffects found = new ReloadEffects(before, after);
        found.listeners();
        found.sections();
        new TreeMap<>(before.upstreams()).forEach(found::upstream);
        new TreeMap<>(before.models()).forEach(found::model);
        return found.effects;
    }

    private void listeners() {
        for (Listener old : before.listeners()) {
            if (after.listeners().stream().noneMatch(old::sameAddress)) {
                effects.add("listener " + address(old) + ": accepts no more connections; open ones go on");
            }
        }
        for (Listener next : after.listeners()) {
            Optional<Listener> old =
                    before.listeners().stream().filter(next::sameAddress).findFirst();
            if (old.isEmpty()) {
                added(next);
            } else if (!old.get().equals(next)) {
                effects.add("listener " + address(next) + ": stays bound; its other settings hold for new connections");
            }
        }
    }

    private void added(Listener next) {
        Optional<Listener> inTheWay = before.listeners().stream()
                .filter(old -> old.port() == next.port() && next.port() != 0 && (isAny(old) || isAny(next)))
                .findFirst();
        effects.add(
                inTheWay.isEmpty()
                        ? "listener " + address(next) + ": binds port " + next.port()
                        : "listener " + address(next) + ": needs a restart; the reload is rejected, as "
                                + address(inTheWay.get()) + " has the port");
    }

    private static boolean isAny(Listener listener) {
        return List.of("0.0.0.0", "::").contains(listener.host());
    }

    private static String address(Listener listener) {
        return listener.host() + ":" + listener.port();
    }

    private void sections() {
        if (before.limits().maxConcurrentStreams() != after.limits().maxConcurrentStreams()) {
            effects.add("limits: max_concurrent_streams: holds for new connections");
        }
        if (before.authentication() != null
                && after.authentication() != null
                && !before.authentication().equals(after.authentication())) {
            effects.add("authentication: keys of files and of 'jwks_url' are read again");
        }
        LocalConfig old = before.local();
        if (old != null && !old.equals(after.local())) {
            effects.add(
                    after.local() == null
                            ? "local: its models are unloaded after their last call"
                            : "local: all of its models are loaded again");
        } else if (old == null && after.local() != null) {
            effects.add("local: its models are loaded before the change takes effect");
        }
    }

    private void upstream(String name, UpstreamConfig old) {
        UpstreamConfig next = after.upstreams().get(name);
        if (next == null) {
            effects.add("upstream '" + name + "': its connections close after its last call");
        } else if (!next.withoutLiterals().equals(old.withoutLiterals())
                || Collections.disjoint(next.endpoints(), old.endpoints())
                || !sameAround(next)) {
            effects.add("upstream '" + name
                    + "': its connections close after its last call; health, ejections and the circuit breaker of its"
                    + " servers begin anew");
        } else if (!next.equals(old)) {
            effects.add("upstream '" + name + "': servers that stay keep their connections, health and ejections");
        }
    }

    /** Whether the settings of other sections, on which an upstream depends, are unchanged. */
    private boolean sameAround(UpstreamConfig upstream) {
        boolean services = upstream.endpoints().stream().anyMatch(ServerAddress.KubernetesService.class::isInstance);
        return before.limits().maxBodySize() == after.limits().maxBodySize()
                && before.limits().maxManagementResponseSize() == after.limits().maxManagementResponseSize()
                && before.headers().returned().equals(after.headers().returned())
                && (!services || before.kubernetes().equals(after.kubernetes()));
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
            effects.add("model '" + name + "': its rate limits begin anew");
        }
        RampConfig ramp = old.ramp();
        if (ramp != null) {
            ramp("model '" + name + "': ramp: ", ramp, old, next);
        }
    }

    private void ramp(String what, RampConfig ramp, ModelConfig old, ModelConfig next) {
        RampConfig nextRamp = next.ramp();
        if (nextRamp == null) {
            effects.add(what + "ends, also if it is rolled back; its target gets its configured weight");
        } else if (!sameTarget(target(old, ramp), target(next, nextRamp))) {
            effects.add(what + "begins again at " + Units.share(nextRamp.steps().getFirst())
                    + ", also if it is rolled back: its target is another one");
        } else if (!ramp.steps().equals(nextRamp.steps())) {
            effects.add(what + "begins again at " + Units.share(nextRamp.steps().getFirst())
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
