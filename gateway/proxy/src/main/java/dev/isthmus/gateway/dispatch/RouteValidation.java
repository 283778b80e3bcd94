package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.routing.Route;
import dev.isthmus.gateway.routing.RoutingTable;
import dev.isthmus.gateway.settings.RequestValidation;
import dev.isthmus.gateway.validation.ValidationRules;
import dev.isthmus.oip.ModelRef;
import java.util.Objects;

/** The validation that is configured for each route. */
final class RouteValidation implements ValidationRules {
    private final RequestValidation otherwise;
    private final RoutingTable routes;
    private final RouteKeys keys;

    /** @param otherwise of models that have none of their own */
    RouteValidation(RequestValidation otherwise, RoutingTable routes, RouteKeys keys) {
        this.otherwise = otherwise;
        this.routes = routes;
        this.keys = keys;
    }

    @Override
    public RequestValidation mode(ModelRef requested) {
        Route route = routes.find(requested);
        return route == null
                ? RequestValidation.OFF
                : Objects.requireNonNullElse(route.config().validate(), otherwise);
    }

    @Override
    public String label(ModelRef requested) {
        return keys.of(routes.find(requested), requested);
    }
}
