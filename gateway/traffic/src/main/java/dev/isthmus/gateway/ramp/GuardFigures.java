package dev.isthmus.gateway.ramp;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.settings.ModelConfig;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * What a ramp's guard looks at in a step, and its limits.
 *
 * @param calls that the target answered or failed
 * @param minimumCalls fewer calls are no evidence
 * @param errorRate of the target, as that of the others from 0 to 1
 * @param p95Nanos of the target; 0 without calls, as that of the others
 * @param maxLatencyRatio of the two; 0 for no limit
 * @param difference the largest one of a shadow's numbers; infinite if responses cannot be compared
 * @param maxDifference null for no limit
 */
public record GuardFigures(
        long calls,
        long minimumCalls,
        double errorRate,
        double othersErrorRate,
        double maxErrorRate,
        long p95Nanos,
        long othersP95Nanos,
        double maxLatencyRatio,
        double difference,
        @Nullable Double maxDifference) {
    private static final double NANOS = TimeUnit.SECONDS.toNanos(1);

    static GuardFigures of(StepFigures step, long othersP95, int minimumCalls, ModelConfig.RampConfig config) {
        return new GuardFigures(
                step.target().calls(),
                minimumCalls,
                step.target().errorRate(),
                step.others().errorRate(),
                config.maxErrorRate(),
                step.target().p95Nanos(),
                othersP95,
                config.maxLatencyRatio(),
                step.difference(),
                config.maxDifference());
    }

    /** Adds the figures to the document of the ramp. */
    void write(ObjectNode guard) {
        guard.put("calls", calls).put("minimum_calls", minimumCalls);
        guard.putObject("error_rate")
                .put("target", errorRate)
                .put("others", othersErrorRate)
                .put("limit", maxErrorRate);
        guard.putObject("p95_seconds")
                .put("target", p95Nanos / NANOS)
                .put("others", othersP95Nanos / NANOS)
                .put("limit_ratio", maxLatencyRatio);
        ObjectNode differences = guard.putObject("difference");
        // JSON has no infinity.
        if (Double.isFinite(difference)) {
            differences.put("target", difference);
        } else {
            differences.put("target", "infinite");
        }
        differences.put("limit", maxDifference);
    }
}
