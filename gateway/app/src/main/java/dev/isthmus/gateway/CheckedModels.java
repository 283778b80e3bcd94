package dev.isthmus.gateway;

import dev.isthmus.gateway.routing.Route;
import dev.isthmus.gateway.routing.RoutingTable;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.settings.ModelPattern;
import dev.isthmus.oip.ModelRef;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/** The models whose readiness every server of an upstream is asked for: those that are configured by name. */
final class CheckedModels {
    private volatile Map<String, Set<ModelRef>> byUpstream = Map.of();

    /** As the servers of an upstream know them. */
    Set<ModelRef> of(String upstream) {
        return byUpstream.getOrDefault(upstream, Set.of());
    }

    /** From now on those of this table. */
    void configure(RoutingTable routes) {
        Map<String, Set<ModelRef>> found = new HashMap<>();
        for (Route route : routes.routes()) {
            if (!ModelPattern.is(route.key())) {
                for (Target target : route.targets(ModelRef.of(route.key()))) {
                    found.computeIfAbsent(target.upstream().name(), upstream -> new HashSet<>())
                            .add(target.model());
                }
            }
        }
        byUpstream = Map.copyOf(found);
    }
}
