package dev.isthmus.gateway.ramp;

import dev.isthmus.gateway.config.ModelConfig;

/**
 * A ramp as configured.
 *
 * @param model the route's key
 * @param target what is ramped
 */
public record RampPlan(String model, ModelConfig.Target target, ModelConfig.Ramp config) {

    public RampPlan {
        if (!config.target().equals(target.label())) {
            throw new IllegalArgumentException("the ramp of model '" + model + "' is for target '" + config.target()
                    + "', got '" + target.label() + "'");
        }
        if (config.steps().isEmpty()) {
            throw new IllegalArgumentException("the ramp of model '" + model + "' needs one step or more");
        }
    }

    /** What the target is called. */
    public String arm() {
        return target.label();
    }
}
