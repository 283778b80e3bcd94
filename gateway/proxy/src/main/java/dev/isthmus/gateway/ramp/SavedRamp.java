package dev.isthmus.gateway.ramp;

import java.time.Instant;

/**
 * Where a ramp stands, as it is kept beyond the process.
 *
 * @param configuration what the ramp was configured as: for another one this says nothing
 * @param step from 0
 * @param share of the target; for people
 * @param reason why it was rolled back, and by whom; empty where it was not
 * @param changed when it came to this state or step
 */
public record SavedRamp(String configuration, RampState state, int step, double share, String reason, Instant changed) {

    public SavedRamp {
        if (step < 0) {
            throw new IllegalArgumentException("step: 0 or more is expected, got " + step);
        }
    }
}
