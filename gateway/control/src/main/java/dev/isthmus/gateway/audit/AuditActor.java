package dev.isthmus.gateway.audit;

import dev.isthmus.gateway.net.Labelled;

/**
 * Who did something.
 *
 * @param kind how it is known who did it
 * @param name the name of an admin token or of a caller; empty for a caller that is not identified
 * @param role of the admin token; empty for others
 * @param issuer the provider of OpenID Connect that knows the operator by this name; empty for others
 * @param origin the address that it was asked from; of the process, what made it act
 */
public record AuditActor(ActorKind kind, String name, String role, String issuer, String origin) {

    /** How it is known who did something. */
    public enum ActorKind implements Labelled {
        /** By the token of a request to the admin address, or the login of its session. */
        OPERATOR,
        /** By the credential of a call through a listener. */
        CALLER,
        /** The gateway did it by itself. */
        PROCESS
    }

    /** The gateway itself, because of this: "SIGHUP", "a changed file". */
    public static AuditActor process(String cause) {
        return new AuditActor(ActorKind.PROCESS, "isthmus", "", "", cause);
    }
}
