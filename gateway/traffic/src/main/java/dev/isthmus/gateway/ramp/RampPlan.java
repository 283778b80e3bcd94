package dev.isthmus.gateway.ramp;

import dev.isthmus.gateway.settings.ModelConfig;
import java.util.Objects;

/**
 * A ramp as configured.
 *
 * @param model the route's key
 * @param target the ramped target
 */
public record RampPlan(String model, ModelConfig.TargetConfig target, ModelConfig.RampConfig config) {
    private static final String STEPS = " steps=";
    private static final String WEIGHT = " weight=";

    /**
     * A text form of what progress belongs to, the ramped target and the steps, that stays the same from release to
     * release.
     */
    String configuration() {
        return targetText() + STEPS + config.steps();
    }

    /** The ramped target in a text form of a configuration, also in one of version 0.2, which had its weight. */
    static String targetOf(String configuration) {
        int steps = configuration.lastIndexOf(STEPS);
        String target = steps < 0 ? configuration : configuration.substring(0, steps);
        int weight = target.lastIndexOf(WEIGHT);
        return weight < 0 || !target.substring(weight + WEIGHT.length()).matches("[0-9]+")
                ? target
                : target.substring(0, weight);
    }

    /** What is ramped: progress of another target says nothing about it. */
    String targetText() {
        return "target=" + target.label() + " upstream=" + target.upstream() + " model="
                + Objects.requireNonNullElse(target.model(), "") + " version="
                + Objects.requireNonNullElse(target.version(), "");
    }

    public String arm() {
        return target.label();
    }
}
