package dev.isthmus.local;

import dev.isthmus.local.ModelVersions.Served;
import dev.isthmus.oip.ModelRef;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The loaded models by name. Reading is one volatile read. A change is published before the replaced versions are
 * released, so that a reader that fails to retain a version finds the next one. Thread-safe.
 */
final class LoadedModels implements AutoCloseable {
    private volatile Map<String, ModelVersions> models = Map.of();
    private boolean closed;

    /** A snapshot of all models that are loaded or failed to load. */
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

    /** As {@link #find}, but retains the model, which the caller must release. */
    @Nullable
    Served use(ModelRef ref) {
        while (true) {
            Served served = find(ref);
            if (served == null || served.model().retain()) {
                return served;
            }
            // It was released in between, so another version is published, or none.
            Thread.onSpinWait();
        }
    }

    /** Publishes the versions of a model and releases those replaced. */
    synchronized void put(String name, ModelVersions now) {
        Map<String, ModelVersions> all = new HashMap<>(models);
        ModelVersions before = all.put(name, now);
        if (closed) {
            releaseReplaced(now, ModelVersions.NONE);
            return;
        }
        models = Map.copyOf(all);
        if (before != null) {
            releaseReplaced(before, now);
        }
    }

    /** Removes a model that does not exist. */
    synchronized void remove(String name) {
        Map<String, ModelVersions> all = new HashMap<>(models);
        ModelVersions before = all.remove(name);
        models = Map.copyOf(all);
        if (before != null) {
            releaseReplaced(before, ModelVersions.NONE);
        }
    }

    private static void releaseReplaced(ModelVersions before, ModelVersions now) {
        before.served().forEach((version, served) -> {
            Served next = now.served().get(version);
            if (next == null || next.model() != served.model()) {
                served.model().release();
            }
        });
    }

    /** Releases all models, and those published later. */
    @Override
    public synchronized void close() {
        closed = true;
        Map<String, ModelVersions> all = models;
        models = Map.of();
        all.values().forEach(versions -> releaseReplaced(versions, ModelVersions.NONE));
    }
}
