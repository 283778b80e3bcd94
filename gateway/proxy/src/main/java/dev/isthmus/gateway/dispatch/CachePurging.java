package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.cache.ResponseCaches;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.Layer;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.extension.Extension;
import dev.isthmus.gateway.routing.Route;
import dev.isthmus.gateway.routing.RoutingTable;
import dev.isthmus.gateway.settings.ModelPattern;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;

/**
 * The layer that removes the cached responses of a model that was loaded or unloaded, before the client of that call has
 * its response; also if it has failed, as some servers may have changed.
 */
final class CachePurging implements Layer {
    private final ResponseCaches caches;
    private final RoutingTable routes;

    CachePurging(ResponseCaches caches, RoutingTable routes) {
        this.caches = caches;
        this.routes = routes;
    }

    @Override
    public String name() {
        return "cache_purge";
    }

    @Override
    public void finished(Exchange exchange) {
        CallContext call = exchange.context();
        if (call.operation() instanceof Operation.Manage manage
                && (manage.extension() == Extension.REPOSITORY_LOAD
                        || manage.extension() == Extension.REPOSITORY_UNLOAD)
                && call.code() != ErrorCode.UNAUTHENTICATED
                && call.code() != ErrorCode.PERMISSION_DENIED) {
            purge(manage.model());
        }
    }

    private void purge(ModelRef model) {
        caches.purge(model.name());
        Route route = routes.find(model);
        if (route != null && !route.key().equals(model.name()) && !ModelPattern.is(route.key())) {
            // By an alias.
            caches.purge(route.key());
        }
    }
}
