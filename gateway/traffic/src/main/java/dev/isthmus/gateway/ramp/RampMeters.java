package dev.isthmus.gateway.ramp;

import dev.isthmus.gateway.metrics.ReplaceableMeters;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import java.util.EnumMap;
import java.util.Map;

/** The meters of one ramp. */
final class RampMeters implements AutoCloseable {
    private final ReplaceableMeters meters;
    private final Counter steps;
    private final Map<GuardBreach.BreachKind, Counter> rollbacks = new EnumMap<>(GuardBreach.BreachKind.class);

    RampMeters(MeterRegistry registry, Ramp ramp) {
        this.meters = new ReplaceableMeters(registry);
        Tags tags = Tags.of("model", ramp.plan().model());
        meters.add(Gauge.builder("isthmus.ramp.share", ramp, Ramp::share)
                .description("Current share of the ramp's target, from 0 to 1")
                .tags(tags.and("arm", ramp.plan().arm()))::register);
        for (RampState state : RampState.values()) {
            meters.add(Gauge.builder("isthmus.ramp.state", ramp, it -> it.state() == state ? 1 : 0)
                    .description("1 for the current state of the ramp")
                    .tags(tags.and("state", state.label()))::register);
        }
        steps = meters.add(Counter.builder("isthmus.ramp.steps")
                .description("Steps that the ramp has reached")
                .tags(tags)::register);
        for (GuardBreach.BreachKind kind : GuardBreach.BreachKind.values()) {
            Tags reason = tags.and("reason", kind.label());
            rollbacks.put(
                    kind,
                    meters.add(Counter.builder("isthmus.ramp.rollbacks")
                            .description("Rollbacks of the ramp")
                            .tags(reason)::register));
        }
    }

    void stepped() {
        steps.increment();
    }

    void rolledBack(GuardBreach.BreachKind kind) {
        Counter counter = rollbacks.get(kind);
        if (counter != null) {
            counter.increment();
        }
    }

    @Override
    public void close() {
        meters.close();
    }
}
