package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.access.AccessPolicy;
import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.Layer;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.routing.Route;
import dev.isthmus.gateway.routing.RoutingTable;
import dev.isthmus.oip.ModelRef;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** The layer that finds the route of the requested model. */
final class Routing implements Layer {
    private final RoutingTable routes;
    private final RouteKeys keys;
    private final RoutePolicyTable policies;
    private final AccessPolicy access;

    Routing(RoutingTable routes, RouteKeys keys, RoutePolicyTable policies, AccessPolicy access) {
        this.routes = routes;
        this.keys = keys;
        this.policies = policies;
        this.access = access;
    }

    @Override
    public String name() {
        return "routing";
    }

    @Override
    public @Nullable CompletableFuture<?> open(Exchange exchange) {
        Operation operation = exchange.call().operation();
        ModelRef model = operation.requestedModel();
        if (model != null) {
            Route route = routes.find(model);
            exchange.context().routed(keys.of(route, model));
            if (operation instanceof Operation.Infer || operation instanceof Operation.Generate) {
                Route required = RoutingTable.required(route, model);
                new RoutedCall(exchange, required, model, policies.of(required), access);
            }
        }
        return null;
    }
}
