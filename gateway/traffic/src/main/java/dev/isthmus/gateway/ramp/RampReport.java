package dev.isthmus.gateway.ramp;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A snapshot of a ramp.
 *
 * @param model the route's key
 * @param arm the ramped target
 * @param share the target's current share, from 0 to 1
 * @param step index into {@code steps}
 * @param stepNanos how long the step has lasted
 * @param interval how long the step lasts at least
 * @param answered calls that the target answered in the step
 * @param minimumAnswered how many it must answer in the step at least
 * @param errorRate of the target in the step
 * @param guard what may roll it back, as JSON
 * @param reason why it was rolled back; empty if it was not
 * @param held what its guard needs before the next step, which is due; empty if it needs nothing
 * @param changed when its state or step last changed
 */
public record RampReport(
        String model,
        String arm,
        RampState state,
        double share,
        int step,
        List<Double> steps,
        long stepNanos,
        Duration interval,
        long answered,
        long minimumAnswered,
        double errorRate,
        ObjectNode guard,
        String reason,
        String held,
        Instant changed) {

    public RampReport {
        steps = List.copyOf(steps);
    }

    /** The report as JSON, for the admin listener. */
    public ObjectNode document() {
        ObjectNode document = JsonNodeFactory.instance.objectNode();
        document.put("model", model)
                .put("target", arm)
                .put("state", state.label())
                .put("share", share)
                .put("step", step + 1);
        var all = document.putArray("steps");
        steps.forEach(all::add);
        document.put("step_seconds", TimeUnit.NANOSECONDS.toSeconds(stepNanos))
                .put("interval_seconds", interval.toSeconds())
                .put("step_answered", answered)
                .put("minimum_requests", minimumAnswered)
                .put("step_error_rate", errorRate)
                .put("reason", reason)
                .put("held", held)
                .put("changed", changed.toString());
        document.set("guard", guard);
        return document;
    }
}
