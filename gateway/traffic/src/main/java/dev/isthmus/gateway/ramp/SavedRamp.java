package dev.isthmus.gateway.ramp;

import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A ramp's persisted progress.
 *
 * @param configuration the ramped target and the steps; see {@link #under}
 * @param step from 0
 * @param share of the target
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

    /**
     * The progress for a ramp whose configuration may have changed since. It stays if the target is the same and the
     * current share is one of the steps; a rollback stays whatever the steps are.
     *
     * @return null if the ramp begins again
     */
    @Nullable
    SavedRamp under(RampPlan plan) {
        if (!RampPlan.targetOf(configuration).equals(plan.targetText())) {
            return null;
        }
        List<Double> steps = plan.config().steps();
        boolean same = configuration.equals(plan.configuration()) && step < steps.size();
        boolean rolledBack = state == RampState.ROLLED_BACK;
        int kept = same ? step : rolledBack ? Math.min(step, steps.size() - 1) : steps.indexOf(share);
        if (kept < 0) {
            return null;
        }
        boolean goesOn = state == RampState.COMPLETE && kept + 1 < steps.size();
        return new SavedRamp(
                plan.configuration(), goesOn ? RampState.RUNNING : state, kept, share, reason, changed, round);
    }

    /** Whether this is the next step of a ramp that is running, or its end, in the same round. */
    boolean follows(SavedRamp before) {
        int reached = state == RampState.COMPLETE ? step : step - 1;
        return before.state == RampState.RUNNING
                && before.step == reached
                && before.round == round
                && before.configuration.equals(configuration);
    }

    /** The same with another state and step, which it has from a time on. */
    SavedRamp with(RampState otherState, int otherStep, Instant since) {
        return new SavedRamp(configuration, otherState, otherStep, share, reason, since, round);
    }
}
