package dev.isthmus.gateway.ramp;

import dev.isthmus.gateway.settings.ModelConfig;
import org.jspecify.annotations.Nullable;

/**
 * A ramp as configured.
 *
 * @param model the route's key
 * @param target the ramped target
 */
public record RampPlan(String model, ModelConfig.TargetConfig target, ModelConfig.RampConfig config) {

    public RampPlan {
        if (!config.target().equals(target.label())) {
            throw new IllegalArgumentException("the ramp of model '" + model + "' is for target '" + config.target()
                    + "', got '" + target.label() + "'");
        }
        if (config.steps().isEmpty()) {
            throw new IllegalArgumentException("the ramp of model '" + model + "' needs one step or more");
        }
    }

    /** A text form of the configuration that stays the same from release to release. */
    String configuration() {
        return "target=" + target.label() + " upstream=" + target.upstream() + " model=" + text(target.model())
                + " version=" + text(target.version()) + " weight=" + target.weight() + " steps=" + config.steps()
                + " interval=" + config.interval() + " minimum_requests=" + config.minimumRequests()
                + " max_error_rate=" + config.maxErrorRate() + " max_latency_ratio=" + config.maxLatencyRatio()
                + " max_difference=" + config.maxDifference();
    }

    private static String text(@Nullable String value) {
        return value == null ? "" : value;
    }

    /** The target's name. */
    public String arm() {
        return target.label();
    }
}
