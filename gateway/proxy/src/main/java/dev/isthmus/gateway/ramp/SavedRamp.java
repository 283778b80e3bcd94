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
 */
public record SavedRamp(String configuration, RampState state, int step, double share, String reason, Instant changed) {

    public SavedRamp {
        if (step < 0) {
            throw new IllegalArgumentException("step must be at least 0, got " + step);
        }
    }
}
