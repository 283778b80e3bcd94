package dev.isthmus.gateway.ramp;

/** The weights of a route's targets, which a ramp overrides. Thread-safe. */
@FunctionalInterface
public interface TargetWeights {

    /**
     * Sets a target's share of calls; the others share the rest.
     *
     * @param share from 0 to 1
     */
    void override(String arm, double share);
}
