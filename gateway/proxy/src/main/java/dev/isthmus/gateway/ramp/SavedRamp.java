package dev.isthmus.gateway.ramp;

import java.time.Instant;

/**
 * A ramp's persisted progress.
 *
 * @param configuration of the ramp; the progress applies to no other
 * @param step from 0
 * @param share of the target; informative
 * @param reason why it was rolled back, and by whom; empty if it was not
 * @param changed when its state or step last changed
 * @param round how often it was restarted
 */
public record SavedRamp(
        String configuration, RampState state, int step, double share, String reason, Instant changed, long round) {

    public SavedRamp {
        if (step < 0) {
            throw new IllegalArgumentException("step must be at least 0, got " + step);
        }
    }

    /** The same with another state and step, which it has from a time on. */
    SavedRamp with(RampState otherState, int otherStep, Instant since) {
        return new SavedRamp(configuration, otherState, otherStep, share, reason, since, round);
    }
}
