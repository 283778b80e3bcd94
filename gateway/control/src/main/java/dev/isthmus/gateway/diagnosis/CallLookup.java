package dev.isthmus.gateway.diagnosis;

import dev.isthmus.gateway.admin.AdminQuery;
import dev.isthmus.gateway.admin.AdminRequest;
import dev.isthmus.gateway.admin.AdminResponse;
import dev.isthmus.gateway.admin.AdminRoutes;
import dev.isthmus.gateway.admin.RouteAccess;

/** Finds an ended call by its request id, among those that pages show and the last failed ones of each server. */
public record CallLookup(LiveCalls live, ServerErrors errors) {

    public void addTo(AdminRoutes routes) {
        routes.route("GET", "/debug/calls/*", RouteAccess.DIAGNOSIS, this::show);
    }

    private AdminResponse show(AdminRequest request) {
        AdminQuery.of(request);
        String id = request.tail();
        EndedCall failed = errors.find(id);
        EndedCall call = failed == null ? live.find(id) : failed;
        return call == null
                ? AdminResponse.error(
                        404,
                        "the call '" + id + "' is not kept: those are the last " + ServerErrors.ERRORS_OF_SERVER
                                + " failed calls of each server, and the calls that a page Live shows now")
                : AdminResponse.json(200, call.document());
    }
}
