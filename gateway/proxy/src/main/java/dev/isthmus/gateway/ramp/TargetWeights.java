package dev.isthmus.gateway.ramp;

/** The shares of a route's targets, which a ramp moves. From any thread. */
@FunctionalInterface
public interface TargetWeights {

    /**
     * Gives a target a share of the calls, and the others the rest.
     *
     * @param share from 0 to 1
     */
    void override(String arm, double share);
}
