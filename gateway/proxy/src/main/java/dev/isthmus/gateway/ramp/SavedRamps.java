package dev.isthmus.gateway.ramp;

import java.io.IOException;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What a store has of the ramps. A store that fails is told of once, and tried again; ramps go on without it. */
final class SavedRamps {
    private static final Logger LOG = LoggerFactory.getLogger(SavedRamps.class);

    private final RampStateStore store;
    private Map<String, SavedRamp> saved;
    private boolean failing;
    private boolean closed;

    SavedRamps(RampStateStore store) {
        this.store = store;
        this.saved = loaded(store);
    }

    private static Map<String, SavedRamp> loaded(RampStateStore store) {
        try {
            return store.load();
        } catch (IOException e) {
            LOG.error(
                    "the state of ramps in '{}' cannot be read, every ramp begins at its first step: {}",
                    store,
                    e.toString());
            return Map.of();
        }
    }

    /** Where the ramp stood when it was last seen; null where it was not, or was configured otherwise. */
    synchronized @Nullable SavedRamp of(RampPlan plan) {
        SavedRamp ramp = saved.get(plan.model());
        boolean same = ramp != null
                && ramp.configuration().equals(plan.configuration())
                && ramp.step() < plan.config().steps().size();
        return same ? ramp : null;
    }

    /** Saves no more. */
    synchronized void close() {
        closed = true;
    }

    /** @param ramps as they are now; saved where they are not as they were saved last */
    synchronized void save(Supplier<Map<String, SavedRamp>> ramps) {
        Map<String, SavedRamp> now = ramps.get();
        if (closed || now.equals(saved)) {
            return;
        }
        try {
            store.save(now);
            saved = now;
            failing = false;
        } catch (IOException e) {
            if (!failing) {
                LOG.error(
                        "the state of ramps cannot be kept in '{}', a restart takes them back: {}",
                        store,
                        e.toString());
            }
            failing = true;
        }
    }
}
