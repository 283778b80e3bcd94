package dev.isthmus.gateway.pool;

import dev.isthmus.gateway.routing.Route;
import dev.isthmus.gateway.routing.RoutingTable;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.settings.ModelPattern;
import dev.isthmus.oip.ModelRef;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/** The models whose readiness is checked on every server of an upstream: those configured by name. */
public final class CheckedModels {
    private volatile Map<String, Set<ModelRef>> byUpstream = Map.of();

    /** The checked models, under their names on the upstream's servers. */
    Set<ModelRef> of(String upstream) {
        return byUpstream.getOrDefault(upstream, Set.of());
    }

    /** Replaces the models with those of this table. */
    public void configure(RoutingTable routes) {
        Map<String, Set<ModelRef>> models = new HashMap<>();
        for (Route route : routes.routes()) {
            if (!ModelPattern.is(route.key())) {
                for (Target target : route.targets(ModelRef.of(route.key()))) {
                    models.computeIfAbsent(target.upstream().name(), upstream -> new HashSet<>())
                            .add(target.model());
                }
            }
        }
        byUpstream = Map.copyOf(models);
    }
}
