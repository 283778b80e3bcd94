package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.access.AccessPolicy;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.Layer;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Slot;
import dev.isthmus.gateway.dispatch.ProxyStack.RouteKeys;
import dev.isthmus.gateway.dispatch.RoutePolicyTable.RoutePolicies;
import dev.isthmus.gateway.routing.RequestAttributes;
import dev.isthmus.gateway.routing.Route;
import dev.isthmus.gateway.routing.Route.StreamSelections;
import dev.isthmus.gateway.routing.RoutingTable;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.message.ServerFeatures;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * One inference on its route, put into its exchange by {@link Routing}: chooses its target, and has what the layers of
 * the route's policies keep of it.
 */
final class RoutedCall {
    private static final Slot<RoutedCall> SLOT = new Slot<>();

    private final Exchange exchange;
    private final Route route;
    private final ModelRef model;
    private final RoutePolicies policies;
    private final AccessPolicy access;
    private @Nullable Target target;
    private @Nullable Call call;

    RoutedCall(Exchange exchange, Route route, ModelRef model, RoutePolicies policies, AccessPolicy access) {
        this.exchange = exchange;
        this.route = route;
        this.model = model;
        this.policies = policies;
        this.access = access;
        exchange.put(SLOT, this);
    }

    /** That of an exchange; null if it is none of an inference. */
    static @Nullable RoutedCall in(Exchange exchange) {
        return exchange.get(SLOT);
    }

    /** That of an inference. */
    static RoutedCall of(Exchange exchange) {
        return Objects.requireNonNull(exchange.get(SLOT));
    }

    Route route() {
        return route;
    }

    RoutePolicies policies() {
        return policies;
    }

    /** The chosen target; not the fallback. */
    @Nullable
    Target target() {
        return target;
    }

    /** What an upstream supports for this caller. */
    ServerFeatures features(Upstream upstream) {
        ServerFeatures features = upstream.peer();
        return features.sharedMemory() && !access.allowsSharedMemory(exchange.context(), model)
                ? features.withoutSharedMemory()
                : features;
    }

    /** The call as it is sent: within the time that the route gives it, which begins with the first use. */
    Call call() {
        if (call == null) {
            call = exchange.call().within(route.config().timeout());
        }
        return call;
    }

    /**
     * Chooses the target.
     *
     * @param stream the random choices of its stream so far; null for a request of its own
     * @throws OipException NOT_FOUND for a version that no target serves
     */
    Target selectTarget(RequestAttributes attributes, @Nullable StreamSelections stream) {
        Route.TargetSelection selection = route.pick(model, attributes, stream);
        Target chosen = selection.target();
        target = chosen;
        if (route.readsPriority()) {
            exchange.context().prioritized(attributes.priority());
        }
        exchange.targeted();
        exchange.context().sentTo(chosen.arm(), chosen.upstream().name(), chosen.model());
        call = call().withAffinity(selection.affinity(), selection.sequenceNanos());
        return chosen;
    }

    /** The layer that finds the route of the requested model. */
    record Routing(RoutingTable routes, RouteKeys keys, RoutePolicyTable policies, AccessPolicy access)
            implements Layer {
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
}
