package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Layer;
import dev.isthmus.gateway.routing.Route;
import dev.isthmus.gateway.routing.RoutingTable;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.RequestValidation;
import dev.isthmus.gateway.validation.ModelSignatures;
import dev.isthmus.gateway.validation.RequestValidator;
import dev.isthmus.gateway.validation.ValidationRules;
import dev.isthmus.oip.ModelRef;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The validation that is configured for each route. */
public final class RouteValidation implements ValidationRules {
    private final RequestValidation otherwise;
    private final RoutingTable routes;
    private final RouteKeys keys;

    /** @param otherwise of models that have none of their own */
    public RouteValidation(RequestValidation otherwise, RoutingTable routes, RouteKeys keys) {
        this.otherwise = otherwise;
        this.routes = routes;
        this.keys = keys;
    }

    /** The layer that validates requests; null if none is to be validated. */
    public static @Nullable Layer layer(
            GatewayConfig config,
            RoutingTable routes,
            RouteKeys keys,
            ModelSignatures signatures,
            MeterRegistry meters) {
        return RequestValidation.isConfigured(config)
                ? new RequestValidator(new RouteValidation(config.validate(), routes, keys), signatures, meters)
                : null;
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
