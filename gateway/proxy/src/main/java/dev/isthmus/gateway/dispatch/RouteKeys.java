package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.metrics.CallMetrics;
import dev.isthmus.gateway.routing.Route;
import dev.isthmus.gateway.routing.RoutingTable;
import dev.isthmus.oip.ModelRef;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** Names routes for metrics and logs, from a bounded set. */
@FunctionalInterface
public interface RouteKeys {
    /** The name for models without a route. */
    String OTHER = "other";

    /**
     * The name of a route.
     *
     * @param route the model's route; null if no upstream serves it
     */
    String of(@Nullable Route route, ModelRef model);

    /**
     * The keys of routes, and names of models that have none of their own, as long as their number allows that.
     *
     * @param listed whether a server lists a model of this name
     */
    static RouteKeys of(CallMetrics calls, Predicate<String> listed) {
        return (route, model) -> {
            if (route == null) {
                return OTHER;
            }
            String key = route.key();
            // Configured models have a key of their own; discovered ones get one for their metrics.
            boolean found = key.equals(RoutingTable.DEFAULT) || key.equals(RoutingTable.DISCOVERED);
            return found && listed.test(model.name()) ? calls.named(model.name(), key) : key;
        };
    }
}
