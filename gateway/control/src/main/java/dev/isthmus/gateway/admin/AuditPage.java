package dev.isthmus.gateway.admin;

import dev.isthmus.gateway.audit.AuditLog;

/** The route that shows the last entries of the audit log. */
record AuditPage(AuditLog audit) {
    private static final int DEFAULT_ENTRIES = 100;

    void addTo(AdminRoutes routes) {
        routes.route(AdminRoutes.GET, "/audit", RouteAccess.DIAGNOSIS, this::show);
    }

    private AdminResponse show(AdminRequest request) {
        int limit = AdminQuery.of(request, "limit").integer("limit", 1, 2 * AuditLog.MOST, DEFAULT_ENTRIES);
        return AdminResponse.json(200, audit.document(limit));
    }
}
