package dev.isthmus.gateway.admin;

import dev.isthmus.gateway.settings.AdminConfig.AdminRole;

/** Who may use a route of the admin listener. */
public enum RouteAccess {
    /** Everybody: probes, and files that are the same in every gateway. */
    OPEN(AdminRole.READ),
    /** Everybody on loopback; elsewhere holders of a token. */
    READ(AdminRole.READ),
    /** Holders of a token: what is known of calls, connections, operators. */
    DIAGNOSIS(AdminRole.READ),
    /** Holders of a token with the role operate. */
    OPERATE(AdminRole.OPERATE),
    /** Holders of a token with the role admin. */
    ADMIN(AdminRole.ADMIN);

    private final AdminRole role;

    RouteAccess(AdminRole role) {
        this.role = role;
    }

    /** The least role of a token. */
    AdminRole role() {
        return role;
    }

    /** @param loopback whether the listener's address is loopback */
    boolean needsToken(boolean loopback) {
        return this != OPEN && (this != READ || !loopback);
    }
}
