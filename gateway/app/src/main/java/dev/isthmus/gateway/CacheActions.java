package dev.isthmus.gateway;

import dev.isthmus.gateway.admin.AdminRequest;
import dev.isthmus.gateway.admin.AdminResponse;
import dev.isthmus.gateway.audit.AuditedChange;
import dev.isthmus.gateway.cache.ResponseCaches;
import dev.isthmus.gateway.routing.RoutingTable;
import dev.isthmus.oip.ModelRef;
import java.util.Map;

/** What operators see of the caches, and do to them: {@code /cache/MODEL/purge}. */
record CacheActions(ResponseCaches caches, RoutingTable routes) {
    private static final String PATH = "/cache/MODEL/purge";
    private static final String PURGE = "/purge";

    AdminResponse show() {
        return AdminResponse.json(200, caches.document());
    }

    AdminResponse purge(AdminRequest request) {
        String path = request.tail();
        if (!path.endsWith(PURGE) || path.length() == PURGE.length()) {
            return AdminResponse.error(404, "expected " + PATH);
        }
        String model = path.substring(0, path.length() - PURGE.length());
        long purged = caches.purge(routes.purgedNames(ModelRef.of(model)));
        if (purged == 0 && !caches.has(model)) {
            return AdminResponse.error(404, "no cache has responses of a model '" + model + "'");
        }
        return AdminResponse.json(200, Map.of("model", model, "purged", purged))
                .changed(AuditedChange.done("cache purge", model, purged + " responses", "0 responses"));
    }
}
