package dev.isthmus.local;

import dev.isthmus.local.ModelVersions.Served;
import dev.isthmus.oip.ModelRef;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The loaded models by name. A change is published before the replaced versions are
 * released, so that a reader that fails to retain a version finds the next one. Thread-safe.
 */
final class LoadedModels implements AutoCloseable {
    private final Map<String, ModelVersions> models = new ConcurrentHashMap<>();
    private boolean closed;

    /** All models that are loaded, are loading or failed to load; changes with them. */
    Map<String, ModelVersions> all() {
        return Collections.unmodifiableMap(models);
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
        if (closed) {
            releaseReplaced(now, ModelVersions.NONE);
            return;
        }
        ModelVersions before = models.put(name, now);
        if (before != null) {
            releaseReplaced(before, now);
        }
    }

    /** Removes a model that does not exist. */
    synchronized void remove(String name) {
        ModelVersions before = models.remove(name);
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
        List<ModelVersions> all = List.copyOf(models.values());
        models.clear();
        all.forEach(versions -> releaseReplaced(versions, ModelVersions.NONE));
    }
}
