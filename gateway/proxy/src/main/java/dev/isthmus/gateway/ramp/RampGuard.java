package dev.isthmus.gateway.ramp;

import dev.isthmus.gateway.settings.ModelConfig;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Says whether a target does worse than it may. Used by one thread at a time. */
final class RampGuard {
    /** Fewer calls of a target say nothing of it. */
    private static final int ENOUGH = 20;

    private static final double NANOS_PER_MILLI = TimeUnit.MILLISECONDS.toNanos(1);

    private final ModelConfig.RampConfig config;
    /** Of the others, from the last step in which they had enough calls: at 100 % they have none. 0 while not known. */
    private long othersP95;

    RampGuard(ModelConfig.RampConfig config) {
        this.config = config;
    }

    /** What is exceeded in the step; null for nothing. */
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
        if (step.target().calls() < ENOUGH || rate <= config.maxErrorRate() || rate <= others) {
            return null;
        }
        return new GuardBreach(
                GuardBreach.BreachKind.ERROR_RATE,
                String.format(
                        Locale.ROOT,
                        "%.2f %% of its calls failed, %.2f %% of the others'; at most %.2f %% may",
                        100 * rate,
                        100 * others,
                        100 * config.maxErrorRate()));
    }

    private @Nullable GuardBreach latency(StepFigures step) {
        if (step.others().answered() >= ENOUGH) {
            othersP95 = step.others().p95Nanos();
        }
        long own = step.target().p95Nanos();
        if (config.maxLatencyRatio() == 0
                || othersP95 == 0
                || step.target().answered() < ENOUGH
                || own <= config.maxLatencyRatio() * othersP95) {
            return null;
        }
        return new GuardBreach(
                GuardBreach.BreachKind.LATENCY,
                String.format(
                        Locale.ROOT,
                        "the 95th percentile of its latency is %.3f ms, of the others' %.3f ms; at most %.2f times as long is allowed",
                        own / NANOS_PER_MILLI,
                        othersP95 / NANOS_PER_MILLI,
                        config.maxLatencyRatio()));
    }

    private @Nullable GuardBreach difference(StepFigures step) {
        Double limit = config.maxDifference();
        double difference = step.difference();
        if (limit == null || difference <= limit) {
            return null;
        }
        String what = Double.isInfinite(difference)
                ? "answers cannot be compared with the main ones"
                : "answers differ from the main ones by " + difference;
        return new GuardBreach(GuardBreach.BreachKind.DIFFERENCE, "its " + what + "; at most " + limit + " is allowed");
    }
}
