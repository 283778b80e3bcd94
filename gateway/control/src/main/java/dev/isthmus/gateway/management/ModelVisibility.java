package dev.isthmus.gateway.management;

import dev.isthmus.gateway.access.AccessPolicy;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.catalogue.ModelLocations;
import dev.isthmus.gateway.settings.Permission;
import dev.isthmus.oip.ModelRef;

/** Which models a caller sees in lists: those that are routed, and that it may ask for one by one. */
final class ModelVisibility {
    private final ModelLocations locations;
    private final AccessPolicy policy;

    ModelVisibility(ModelLocations locations, AccessPolicy policy) {
        this.locations = locations;
        this.policy = policy;
    }

    /** Whether every model of every server is shown to every caller. */
    boolean unlimited() {
        return policy.showsAllModels() && locations.defaultUpstream().isPresent();
    }

    /** Whether the caller sees a model in a list. */
    boolean shows(CallContext call, Permission permission, ModelRef model) {
        return locations.routes(model)
                && policy.onModel(call, permission, model).allowed();
    }
}
