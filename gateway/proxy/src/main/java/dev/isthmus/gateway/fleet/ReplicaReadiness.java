package dev.isthmus.gateway.fleet;

import dev.isthmus.oip.ModelRef;
import java.util.Map;

/**
 * What the active checks of one server found last.
 *
 * @param reason why it is not ready; empty where it is
 * @param models those that were asked for, and whether each is ready on this server
 */
record ReplicaReadiness(ServerState server, String reason, Map<ModelRef, Boolean> models) {
    /** Nothing was asked yet: the server counts as usable, so that a fresh gateway serves at once. */
    static final ReplicaReadiness UNKNOWN = new ReplicaReadiness(ServerState.UNKNOWN, "", Map.of());

    /** Whether a server is ready. */
    enum ServerState {
        UNKNOWN,
        READY,
        NOT_READY
    }

    ReplicaReadiness {
        models = Map.copyOf(models);
    }

    /** False where the model is known not to be ready. A version that is not asked for itself is as the model is. */
    boolean mayServe(ModelRef model) {
        Boolean ready = models.get(model);
        if (ready == null && !model.version().isEmpty()) {
            ready = models.get(ModelRef.of(model.name()));
        }
        return ready == null || ready;
    }

    ReplicaReadiness with(ServerState other, String why) {
        return new ReplicaReadiness(other, why, models);
    }

    ReplicaReadiness with(Map<ModelRef, Boolean> other) {
        return new ReplicaReadiness(server, reason, other);
    }
}
