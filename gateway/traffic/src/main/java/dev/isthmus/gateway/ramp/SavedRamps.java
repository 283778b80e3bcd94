package dev.isthmus.gateway.ramp;

import dev.isthmus.gateway.net.FailureReason;
import java.io.IOException;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The saved progress of ramps. A failing store is reported once and retried; ramps continue without it. */
final class SavedRamps {
    private static final Logger LOG = LoggerFactory.getLogger(SavedRamps.class);

    private final RampStateFile store;
    private Map<String, SavedRamp> saved;
    private boolean failing;
    private boolean closed;

    SavedRamps(RampStateFile store) {
        this.store = store;
        this.saved = loaded(store);
    }

    private static Map<String, SavedRamp> loaded(RampStateFile store) {
        try {
            return store.load();
        } catch (IOException e) {
            LOG.error(
                    "cannot read the ramp state in '{}', so every ramp starts at its first step; check ramps.state_file: {}",
                    store,
                    FailureReason.of(e));
            return Map.of();
        }
    }

    /** The saved progress of a ramp; null if there is none, or it does not fit its configuration. */
    synchronized @Nullable SavedRamp of(RampPlan plan) {
        SavedRamp ramp = saved.get(plan.model());
        SavedRamp kept = ramp == null ? null : ramp.under(plan);
        if (ramp != null && kept == null) {
            LOG.warn(
                    "ramp of model '{}': the saved progress ({}) is of another target or of other steps, so it starts at"
                            + " its first step",
                    plan.model(),
                    ramp.state().label());
        }
        return kept;
    }

    /** Stops saving. */
    synchronized void close() {
        closed = true;
    }

    /** @param ramps the current progress; saved if it has changed */
    synchronized void save(Supplier<Map<String, SavedRamp>> ramps) {
        Map<String, SavedRamp> current = ramps.get();
        if (closed || current.equals(saved)) {
            return;
        }
        try {
            store.save(current);
            saved = current;
            failing = false;
        } catch (IOException e) {
            if (!failing) {
                LOG.error(
                        "cannot save the ramp state to '{}', so a restart loses later progress; check ramps.state_file: {}",
                        store,
                        FailureReason.of(e));
            }
            failing = true;
        }
    }
}
