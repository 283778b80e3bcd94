package dev.isthmus.gateway.admin;

import dev.isthmus.gateway.audit.AuditLog.AuditActor;
import dev.isthmus.gateway.call.ClientConnection;
import dev.isthmus.gateway.settings.AdminConfig.AdminRole;
import java.net.SocketAddress;

/**
 * Who sends a request to the admin listener, by the token of the request or of its session.
 *
 * @param name of the token, or at the provider
 * @param issuer the provider of OpenID Connect at which the operator has logged in; empty with a token
 */
record Operator(String name, AdminRole role, String issuer) {

    /** The operator in the audit log, with the address of a request. */
    AuditActor actor(AdminRequest request) {
        SocketAddress peer = request.peer();
        String from = peer == null ? "" : ClientConnection.text(peer);
        return new AuditActor(AuditActor.ActorKind.OPERATOR, name, role.label(), issuer, from);
    }
}
