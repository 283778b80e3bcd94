package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.routing.Route;
import dev.isthmus.oip.ModelRef;
import org.jspecify.annotations.Nullable;

/** Names routes for metrics and logs, out of a bounded set. */
@FunctionalInterface
public interface RouteKeys {

    /**
     * The name of a route.
     *
     * @param route of the model; null where no upstream serves it
     */
    String of(@Nullable Route route, ModelRef model);
}
