package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.cache.ResponseCaches;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.Layer;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.extension.Extension;
import dev.isthmus.gateway.routing.RoutingTable;
import dev.isthmus.oip.ErrorCode;

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
            caches.purge(routes.purgedNames(manage.model()));
        }
    }
}
