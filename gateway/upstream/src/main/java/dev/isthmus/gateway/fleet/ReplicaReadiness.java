package dev.isthmus.gateway.fleet;

import dev.isthmus.oip.ModelRef;
import java.util.Map;

/**
 * The latest results of one server's active checks.
 *
 * @param reason why it is not ready; empty if it is
 * @param models the checked models, and whether each is ready on this server
 */
record ReplicaReadiness(ServerState server, String reason, Map<ModelRef, Boolean> models) {
    /** Not checked yet: the server counts as usable, so that a gateway that has just started serves at once. */
    static final ReplicaReadiness UNKNOWN = new ReplicaReadiness(ServerState.UNKNOWN, "", Map.of());

    enum ServerState {
        UNKNOWN,
        READY,
        NOT_READY
    }

    ReplicaReadiness {
        models = Map.copyOf(models);
    }

    /** False if the model is known not to be ready. A version that is not checked itself has the state of the model. */
    boolean mayServe(ModelRef model) {
        Boolean ready = models.get(model);
        if (ready == null && !model.version().isEmpty()) {
            ready = models.get(ModelRef.of(model.name()));
        }
        return ready == null || ready;
    }

    /** Whether no model is known not to be ready. */
    boolean mayServeAll() {
        return !models.containsValue(false);
    }

    ReplicaReadiness with(ServerState other, String why) {
        return new ReplicaReadiness(other, why, models);
    }

    ReplicaReadiness with(Map<ModelRef, Boolean> other) {
        return new ReplicaReadiness(server, reason, other);
    }
}
