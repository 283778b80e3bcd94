package dev.isthmus.gateway.catalogue;

import dev.isthmus.gateway.routing.Route;
import dev.isthmus.gateway.routing.RoutingTable;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.settings.ModelConfig.ReadyPolicy;
import dev.isthmus.gateway.settings.ModelPattern;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ModelRef;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;

/** The catalogue's view of routing. Thread-safe and cheap. */
public final class ModelLocations {
    private final RoutingTable routes;
    private final ReadyPolicy defaultPolicy;
    private final List<ModelLocation> models;

    /** @param defaultPolicy for models without a policy of their own */
    public ModelLocations(RoutingTable routes, ReadyPolicy defaultPolicy) {
        this.routes = routes;
        this.defaultPolicy = defaultPolicy;
        this.models = routes.routes().stream()
                .filter(route -> !ModelPattern.is(route.key()))
                .map(route -> of(ModelRef.of(route.key())))
                .toList();
    }

    /**
     * The location of a model.
     *
     * @throws dev.isthmus.oip.OipException NOT_FOUND for a model that no upstream serves
     */
    public ModelLocation of(ModelRef requested) {
        Route route = routes.route(requested);
        ReadyPolicy policy = Objects.requireNonNullElse(route.config().ready(), defaultPolicy);
        boolean named = routes.isConfigured(route) && !ModelPattern.is(route.key());
        return new ModelLocation(requested, route.targets(requested), named, policy);
    }

    /** Whether calls for a model of this name have somewhere to go. */
    public boolean routes(ModelRef requested) {
        return routes.find(requested) != null;
    }

    /**
     * Whether calls can get to a model of an upstream.
     *
     * @param requested the model's name for clients, and its version
     * @param name its name there
     */
    boolean lead(ModelRef requested, Upstream upstream, String name) {
        Route route = routes.find(requested);
        return route != null && route.reaches(requested, upstream, name);
    }

    /** The models configured by name, sorted by the names that clients use. */
    public List<ModelLocation> configured() {
        return models;
    }

    /** The upstream for models that are not configured. */
    public Optional<Upstream> defaultUpstream() {
        return routes.defaultUpstream();
    }

    /**
     * Where the calls of a model are routed. Equal in two configurations if both route it alike.
     *
     * @param requested the model as clients call it
     * @param targets all of them, in configuration order, without what a configuration does with inferences
     * @param configured whether the model is configured by name, not by a pattern, discovery or the default upstream
     * @param policy when it is ready
     */
    public record ModelLocation(ModelRef requested, List<Target> targets, boolean configured, ReadyPolicy policy) {

        public ModelLocation {
            targets = targets.stream()
                    .map(each -> new Target(each.upstream(), each.model(), each.arm()))
                    .toList();
        }

        boolean isOn(Set<Upstream> upstreams) {
            return targets.stream().anyMatch(target -> upstreams.contains(target.upstream()));
        }
    }
}
