package dev.isthmus.gateway.fleet;

import dev.isthmus.oip.ModelRef;
import java.util.Map;

/**
 * How one server of a cluster was when it was last looked at.
 *
 * @param label address and port: never for clients
 * @param ready whether it said so when it was last asked; false before that
 * @param reason why it is not ready, without an address; empty where it is
 * @param models those that were asked for, and whether each is ready on this server
 * @param ejected whether it is left out because its calls failed
 * @param underWay calls that it has not answered yet
 */
public record ReplicaState(
        String label, boolean ready, String reason, Map<ModelRef, Boolean> models, boolean ejected, int underWay) {

    static ReplicaState of(Replica replica, long now) {
        Readiness seen = replica.readiness();
        return new ReplicaState(
                replica.label(),
                seen.server() == Readiness.Server.READY,
                seen.reason(),
                seen.models(),
                replica.ejection().ejected(now),
                replica.underWay());
    }
}
