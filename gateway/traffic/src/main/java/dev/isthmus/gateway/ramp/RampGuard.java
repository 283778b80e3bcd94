package dev.isthmus.gateway.ramp;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.net.Labelled;
import dev.isthmus.gateway.ramp.StepFigures.TargetFigures;
import dev.isthmus.gateway.settings.ModelConfig;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Checks whether a target exceeds the ramp's limits. Used by one thread at a time. */
final class RampGuard {
    /** Fewer calls to a target are no evidence. */
    private static final int MIN_CALLS = 20;

    /** Smaller differences of latencies are no reason, whatever their ratio. */
    private static final long NEGLIGIBLE_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    private static final double NANOS_PER_SECOND = TimeUnit.SECONDS.toNanos(1);
    private static final double NANOS_PER_MILLI = TimeUnit.MILLISECONDS.toNanos(1);

    private final ModelConfig.RampConfig config;
    /**
     * Of the other targets, in the last step in which they had enough calls: at a share of 100 % they have none. 0
     * while unknown.
     */
    private long othersP95;
    /** What their 95th percentile is at most; {@link Long#MAX_VALUE} while that is not known. */
    private long othersAtMost = Long.MAX_VALUE;

    RampGuard(ModelConfig.RampConfig config) {
        this.config = config;
    }

    /** A guard with other limits that knows the same of the other targets. */
    RampGuard with(ModelConfig.RampConfig other) {
        RampGuard guard = new RampGuard(other);
        guard.othersP95 = othersP95;
        guard.othersAtMost = othersAtMost;
        return guard;
    }

    /** What the step has so far, and the limits, as JSON. */
    ObjectNode document(StepFigures step) {
        ObjectNode guard = JsonNodeFactory.instance.objectNode();
        guard.put("calls", step.target().calls()).put("minimum_calls", MIN_CALLS);
        guard.putObject("error_rate")
                .put("target", step.target().errorRate())
                .put("others", step.others().errorRate())
                .put("limit", config.maxErrorRate());
        long others = step.others().answered() >= MIN_CALLS ? step.others().p95Nanos() : othersP95;
        guard.putObject("p95_seconds")
                .put("target", step.target().p95Nanos() / NANOS_PER_SECOND)
                .put("others", others / NANOS_PER_SECOND)
                .put("limit_ratio", config.maxLatencyRatio());
        ObjectNode difference = guard.putObject("difference");
        // JSON has no infinity.
        if (Double.isFinite(step.difference())) {
            difference.put("target", step.difference());
        } else {
            difference.put("target", "infinite");
        }
        difference.put("limit", config.maxDifference());
        return guard;
    }

    /** The limit that is exceeded in the step; null for none. */
    @Nullable
    GuardBreach check(StepFigures step) {
        GuardBreach errors = errorRate(step);
        if (errors != null) {
            return errors;
        }
        GuardBreach latency = latency(step);
        return latency != null ? latency : difference(step);
    }

    private @Nullable GuardBreach errorRate(StepFigures step) {
        double rate = step.target().errorRate();
        double others = step.others().errorRate();
        if (step.target().calls() < MIN_CALLS
                || !failsTooOften(step)
                || step.target().mayBeChance(config.maxErrorRate())) {
            return null;
        }
        return new GuardBreach(
                GuardBreach.BreachKind.ERROR_RATE,
                String.format(
                        Locale.ROOT,
                        "%.2f %% of its calls failed, %.2f %% of those to the other targets; the limit is %.2f %%",
                        100 * rate,
                        100 * others,
                        100 * config.maxErrorRate()));
    }

    private boolean failsTooOften(StepFigures step) {
        double rate = step.target().errorRate();
        return rate > config.maxErrorRate() && rate > step.others().errorRate();
    }

    private @Nullable GuardBreach latency(StepFigures step) {
        if (step.others().answered() >= MIN_CALLS) {
            othersP95 = step.others().p95Nanos();
        }
        long others = step.others().p95Interval().above();
        othersAtMost = others == Long.MAX_VALUE ? othersAtMost : others;
        long atLeast = step.target().p95Interval().below();
        if (config.maxLatencyRatio() == 0
                || step.target().answered() < MIN_CALLS
                || atLeast <= config.maxLatencyRatio() * othersAtMost
                || atLeast - othersAtMost < NEGLIGIBLE_NANOS) {
            return null;
        }
        return new GuardBreach(
                GuardBreach.BreachKind.LATENCY,
                String.format(
                        Locale.ROOT,
                        "its p95 latency is %.3f ms, that of the other targets %.3f ms; the limit is a factor of %.2f",
                        step.target().p95Nanos() / NANOS_PER_MILLI,
                        othersP95 / NANOS_PER_MILLI,
                        config.maxLatencyRatio()));
    }

    /**
     * What the step has too little of for a judgement; empty if it has all.
     *
     * @param alone whether the other targets get no calls, so that nothing can be compared with theirs
     * @param first whether no step was judged before
     */
    String lacking(StepFigures step, boolean alone, boolean first) {
        TargetFigures target = step.target();
        if (target.calls() < MIN_CALLS && target.errorRate() > 0) {
            return "max_error_rate needs " + MIN_CALLS + " calls of the target, of which some have failed; it has had "
                    + target.calls();
        }
        if (failsTooOften(step)) {
            return String.format(
                    Locale.ROOT,
                    "max_error_rate needs more calls of the target: that %.2f %% of %d have failed may be chance",
                    100 * target.errorRate(),
                    target.calls());
        }
        boolean latencies = config.maxLatencyRatio() > 0 && !alone;
        if (latencies && target.answered() < MIN_CALLS) {
            return "max_latency_ratio needs " + MIN_CALLS + " successful calls of the target; it has had "
                    + target.answered();
        }
        if (latencies && othersAtMost == Long.MAX_VALUE) {
            return "max_latency_ratio needs more successful calls of the other targets, for their p95; they have had "
                    + step.others().answered();
        }
        return config.maxDifference() == null || step.compared() || (alone && !first)
                ? ""
                : "max_difference needs a comparison by the shadow '" + config.target()
                        + "'; there was none in this step: its metrics say what is not copied";
    }

    private @Nullable GuardBreach difference(StepFigures step) {
        Double limit = config.maxDifference();
        double difference = step.difference();
        if (limit == null || difference <= limit) {
            return null;
        }
        String what = Double.isInfinite(difference)
                ? "responses cannot be compared with the primary ones"
                : "responses differ from the primary ones by " + difference;
        return new GuardBreach(GuardBreach.BreachKind.DIFFERENCE, "its " + what + "; the limit is " + limit);
    }

    /**
     * Why a ramp is rolled back.
     *
     * @param text for operators, with value and limit
     */
    record GuardBreach(BreachKind kind, String text) {

        enum BreachKind implements Labelled {
            ERROR_RATE,
            LATENCY,
            DIFFERENCE,
            /** An operator requested it. */
            REQUESTED
        }
    }
}
