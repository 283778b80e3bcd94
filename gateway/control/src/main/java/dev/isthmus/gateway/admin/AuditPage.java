package dev.isthmus.gateway.admin;

import dev.isthmus.gateway.audit.AuditActor.ActorKind;
import dev.isthmus.gateway.audit.AuditLog;
import java.util.Locale;

/** The route that shows the last entries of the audit log. */
record AuditPage(AuditLog audit) {
    private static final int DEFAULT_ENTRIES = 100;
    private static final String ALL = "all";
    private static final String DONE = "done";

    void addTo(AdminRoutes routes) {
        routes.route(AdminRoutes.GET, "/audit", RouteAccess.DIAGNOSIS, this::show);
    }

    private AdminResponse show(AdminRequest request) {
        AdminQuery query = AdminQuery.of(request, "limit", "by", "outcome");
        int limit = query.integer("limit", 1, 2 * AuditLog.MOST, DEFAULT_ENTRIES);
        String by = query.oneOf("by", ALL, ALL, "operator", "caller", "process");
        String outcome = query.oneOf("outcome", ALL, ALL, DONE, "not_done");
        return AdminResponse.json(
                200,
                audit.document(
                        limit,
                        by.equals(ALL) ? null : ActorKind.valueOf(by.toUpperCase(Locale.ROOT)),
                        outcome.equals(ALL) ? null : outcome.equals(DONE)));
    }
}
