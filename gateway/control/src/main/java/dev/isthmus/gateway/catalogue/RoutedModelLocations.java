package dev.isthmus.gateway.catalogue;

import dev.isthmus.gateway.routing.Route;
import dev.isthmus.gateway.routing.RoutingTable;
import dev.isthmus.gateway.settings.ModelConfig.ReadyPolicy;
import dev.isthmus.gateway.settings.ModelPattern;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ModelRef;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/** Model locations from the routing table. */
public final class RoutedModelLocations implements ModelLocations {
    private final RoutingTable routes;
    private final ReadyPolicy defaultPolicy;
    private final List<String> configured;

    /** @param defaultPolicy for models without a policy of their own */
    public RoutedModelLocations(RoutingTable routes, ReadyPolicy defaultPolicy) {
        this.routes = routes;
        this.defaultPolicy = defaultPolicy;
        this.configured = routes.routes().stream()
                .map(Route::key)
                .filter(name -> !ModelPattern.is(name))
                .toList();
    }

    @Override
    public ModelLocation of(ModelRef requested) {
        Route route = routes.route(requested);
        ReadyPolicy policy = Objects.requireNonNullElse(route.config().ready(), defaultPolicy);
        boolean named = routes.isConfigured(route) && !ModelPattern.is(route.key());
        return new ModelLocation(route.targets(requested), named, policy);
    }

    @Override
    public boolean routes(ModelRef requested) {
        return routes.find(requested) != null;
    }

    @Override
    public List<String> configured() {
        return configured;
    }

    @Override
    public Optional<Upstream> defaultUpstream() {
        return routes.defaultUpstream();
    }
}
