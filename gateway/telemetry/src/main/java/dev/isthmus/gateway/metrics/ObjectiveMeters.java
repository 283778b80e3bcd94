package dev.isthmus.gateway.metrics;

import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.settings.ObjectivesConfig;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.FailureCause;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import org.jspecify.annotations.Nullable;

/** Counts the inferences of a route that meet its objectives, and those that miss them. Thread-safe. */
final class ObjectiveMeters implements AutoCloseable {
    private static final int SERVER_ERRORS = 500;

    final ObjectivesConfig config;
    private final ReplaceableMeters meters;
    private final @Nullable Outcomes availability;
    private final @Nullable Outcomes latency;
    private final long within;

    private record Outcomes(Counter met, Counter missed) {}

    ObjectiveMeters(MeterRegistry registry, String model, ObjectivesConfig config) {
        this.config = config;
        meters = new ReplaceableMeters(registry);
        availability = outcomes(Tags.of("model", model, "objective", "availability"), config.availability());
        latency = outcomes(Tags.of("model", model, "objective", "latency"), config.latency());
        within = config.latencyWithin() == null
                ? Long.MAX_VALUE
                : config.latencyWithin().toNanos();
    }

    private @Nullable Outcomes outcomes(Tags objective, @Nullable Double share) {
        if (share == null) {
            return null;
        }
        double wanted = share;
        meters.add(Gauge.builder("isthmus.objective.ratio", () -> wanted)
                .description("Share of the inferences that has to meet an objective of the model, from 0 to 1")
                .tags(objective)::register);
        return new Outcomes(counter(objective.and("result", "met")), counter(objective.and("result", "missed")));
    }

    private Counter counter(Tags tags) {
        return meters.add(Counter.builder("isthmus.objective.requests")
                .description("Inferences that count for an objective of the model, by whether they meet it")
                .tags(tags)::register);
    }

    /** An inference has ended. One that fails because of its client counts only if that gave up late. */
    void ended(CallContext call) {
        ErrorCode code = call.code();
        FailureCause cause = call.cause();
        boolean gaveUp = cause == FailureCause.CLIENT_GONE || cause == FailureCause.CLIENT_DEADLINE;
        boolean late = call.totalNanos() > within;
        if (code == null || cause == null) {
            count(availability, true);
            count(latency, !late);
        } else if (!cause.isClients() && code.httpStatus() >= SERVER_ERRORS) {
            count(availability, false);
        } else if (gaveUp && late && call.requestNanos() != CallContext.NOT_YET) {
            count(latency, false);
        }
    }

    private static void count(@Nullable Outcomes objective, boolean met) {
        if (objective != null) {
            (met ? objective.met() : objective.missed()).increment();
        }
    }

    @Override
    public void close() {
        meters.close();
    }
}
