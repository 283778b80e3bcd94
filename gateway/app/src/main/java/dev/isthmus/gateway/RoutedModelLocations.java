package dev.isthmus.gateway;

import dev.isthmus.gateway.catalogue.ModelLocation;
import dev.isthmus.gateway.catalogue.ModelLocations;
import dev.isthmus.gateway.routing.Route;
import dev.isthmus.gateway.routing.RoutingTable;
import dev.isthmus.gateway.settings.ModelConfig.ReadyPolicy;
import dev.isthmus.gateway.settings.ModelPattern;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ModelRef;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/** Where models go, as routing says. */
final class RoutedModelLocations implements ModelLocations {
    private final RoutingTable routes;
    private final ReadyPolicy otherwise;
    private final List<String> configured;

    /** @param otherwise the policy of models that have none of their own */
    RoutedModelLocations(RoutingTable routes, ReadyPolicy otherwise) {
        this.routes = routes;
        this.otherwise = otherwise;
        this.configured = routes.routes().stream()
                .map(Route::key)
                .filter(name -> !ModelPattern.is(name))
                .toList();
    }

    @Override
    public ModelLocation of(ModelRef asked) {
        Route route = routes.route(asked);
        ReadyPolicy policy = Objects.requireNonNullElse(route.config().ready(), otherwise);
        boolean named = routes.routes().contains(route) && !ModelPattern.is(route.key());
        return new ModelLocation(route.targets(asked), named, policy);
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
