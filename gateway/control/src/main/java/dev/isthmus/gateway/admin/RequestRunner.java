package dev.isthmus.gateway.admin;

import dev.isthmus.gateway.admin.AdminRoutes.AdminRoute;
import dev.isthmus.gateway.audit.AuditLog;
import dev.isthmus.gateway.audit.AuditedChange;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.oip.OipException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Serves requests: checks who sends them and what their role allows, and records what they change. Thread-safe. */
record RequestRunner(AdminSessions sessions, AuditLog audit) {
    private static final Logger LOG = LoggerFactory.getLogger(RequestRunner.class);
    private static final int ERROR = 400;

    /** Serves a request. May block. */
    AdminResponse run(AdminRoute route, AdminRequest request, boolean changes) {
        try {
            if (!sessions.isNeeded(route.access())) {
                return route.handler().apply(request);
            }
            return run(route, request, sessions.require(request, changes));
        } catch (OipException refused) {
            return AdminResponse.error(refused.code().httpStatus(), refused.message());
        } catch (RuntimeException fault) {
            LOG.atError()
                    .addMarker(RepeatingLogEvent.MARKER)
                    .setCause(fault)
                    .log("internal error in a request to the admin address; please report it");
            return AdminResponse.error(500, "internal error");
        }
    }

    private AdminResponse run(AdminRoute route, AdminRequest request, Operator operator) {
        try {
            AdminSessions.requireRole(operator, route.access());
            AdminResponse response = route.handler().apply(request);
            record(route, request, operator, response);
            return response;
        } catch (OipException refused) {
            refused(route, request, operator, refused.message());
            throw refused;
        } catch (RuntimeException fault) {
            refused(route, request, operator, "internal error");
            throw fault;
        }
    }

    private void record(AdminRoute route, AdminRequest request, Operator operator, AdminResponse response) {
        AuditedChange change = response.change();
        if (change != null) {
            audit.record(operator.actor(request), change);
        } else if (response.status() >= ERROR) {
            refused(route, request, operator, "status " + response.status());
        } else if (!route.audited().isEmpty()) {
            audit.record(operator.actor(request), AuditedChange.done(route.audited(), request.tail(), "", ""));
        }
    }

    private void refused(AdminRoute route, AdminRequest request, Operator operator, String reason) {
        if (!route.audited().isEmpty()) {
            audit.record(operator.actor(request), AuditedChange.refused(route.audited(), request.tail(), reason));
        }
    }
}
