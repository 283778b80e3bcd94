package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.routing.Route;
import dev.isthmus.oip.ModelRef;
import org.jspecify.annotations.Nullable;

/** Names routes for metrics and logs, from a bounded set. */
@FunctionalInterface
public interface RouteKeys {

    /**
     * The name of a route.
     *
     * @param route the model's route; null if no upstream serves it
     */
    String of(@Nullable Route route, ModelRef model);
}
