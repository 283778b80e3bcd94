package dev.isthmus.local;

import dev.isthmus.local.ModelVersions.Served;
import dev.isthmus.oip.ModelRef;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The models by name. Reading is one volatile read; a change is published before what it replaces is let go, so that whoever
 * comes too late for one version finds the next. Thread-safe.
 */
final class LoadedModels implements AutoCloseable {
    private volatile Map<String, ModelVersions> models = Map.of();
    private boolean closed;

    /** All models that were loaded, or tried to be, at this moment. */
    Map<String, ModelVersions> all() {
        return models;
    }

    ModelVersions of(String name) {
        return models.getOrDefault(name, ModelVersions.NONE);
    }

    @Nullable
    Served find(ModelRef ref) {
        return of(ref.name()).find(ref.version());
    }

    /** As {@link #find}, with a use of the model, which the caller has to give back. */
    @Nullable
    Served use(ModelRef ref) {
        while (true) {
            Served served = find(ref);
            if (served == null || served.model().retain()) {
                return served;
            }
            // It was let go in between, so another is published, or none.
            Thread.onSpinWait();
        }
    }

    /** Publishes what there is now of a model. Versions that were there and are not any more are let go. */
    synchronized void put(String name, ModelVersions now) {
        Map<String, ModelVersions> all = new HashMap<>(models);
        ModelVersions before = all.put(name, now);
        if (closed) {
            letGo(now, ModelVersions.NONE);
            return;
        }
        models = Map.copyOf(all);
        if (before != null) {
            letGo(before, now);
        }
    }

    /** Forgets a model that there is not. */
    synchronized void remove(String name) {
        Map<String, ModelVersions> all = new HashMap<>(models);
        ModelVersions before = all.remove(name);
        models = Map.copyOf(all);
        if (before != null) {
            letGo(before, ModelVersions.NONE);
        }
    }

    private static void letGo(ModelVersions before, ModelVersions now) {
        before.served().forEach((version, served) -> {
            Served next = now.served().get(version);
            if (next == null || next.model() != served.model()) {
                served.model().release();
            }
        });
    }

    /** Lets go of all models, and of each that is still put. */
    @Override
    public synchronized void close() {
        closed = true;
        Map<String, ModelVersions> all = models;
        models = Map.of();
        all.values().forEach(versions -> letGo(versions, ModelVersions.NONE));
    }
}
