package dev.isthmus.local;

import dev.isthmus.local.ort.OnnxModel;
import dev.isthmus.local.repository.ModelSettings;
import dev.isthmus.local.repository.ModelSource;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBufAllocator;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs ONNX models in this process. All versions of all models are loaded at start; a model that cannot be is logged with
 * the reason and is not ready, and does not hold up the others. Thread-safe.
 */
public final class LocalBackend implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(LocalBackend.class);

    /** Takes the outcome of a request, on a worker thread or at once. */
    public interface Callback {
        /** The answer (taken). */
        void done(InferResponse response);

        void failed(OipException failure);
    }

    /** Ends a request whose outcome nobody waits for; its callback is called all the same. From any thread. */
    @FunctionalInterface
    public interface Cancellable {
        void cancel();
    }

    private final Map<String, NavigableMap<Long, OnnxModel>> loaded = new HashMap<>();
    private final Set<String> names = new TreeSet<>();
    private final LocalExecutor executor;

    private LocalBackend(List<ModelRepository.Entry> entries, int threads, int queueSize) {
        for (ModelRepository.Entry entry : entries) {
            names.add(entry.name());
            load(entry);
        }
        executor = new LocalExecutor(threads, queueSize);
    }

    /** The models that come with the gateway: digits and simple. */
    public static LocalBackend embedded(int threads, int queueSize) {
        return new LocalBackend(ModelRepository.embedded(), threads, queueSize);
    }

    /**
     * The models of a directory, and the embedded ones where wanted.
     *
     * @param threads that run models
     * @param queueSize requests that wait for a thread; more are refused
     * @throws OipException when the directory cannot be read
     */
    public static LocalBackend of(Path repository, boolean embedded, int threads, int queueSize) {
        List<ModelRepository.Entry> entries = new ArrayList<>(ModelRepository.scan(repository));
        if (embedded) {
            entries.addAll(ModelRepository.embedded());
        }
        return new LocalBackend(entries, threads, queueSize);
    }

    private void load(ModelRepository.Entry entry) {
        ModelRef ref = new ModelRef(entry.name(), entry.version());
        try {
            OnnxModel model = OnnxModel.load(
                    new ModelSource(entry.name(), entry.version(), ModelSettings.DEFAULT, entry.onnx(), List.of()),
                    "cpu");
            loaded.computeIfAbsent(entry.name(), name -> new TreeMap<>(Comparator.naturalOrder()))
                    .put(Long.parseLong(entry.version()), model);
        } catch (OipException failure) {
            LOG.error("model {} is not loaded: {}", ref, failure.message(), failure.getCause());
        }
    }

    /** The models that there are, loaded or not. */
    public Set<String> models() {
        return Set.copyOf(names);
    }

    public boolean ready(ModelRef model) {
        return find(model) != null;
    }

    /** What is known of a model that is loaded. */
    public Optional<ModelMetadata> metadata(ModelRef ref) {
        OnnxModel model = find(ref);
        if (model == null) {
            return Optional.empty();
        }
        List<String> versions = ref.version().isEmpty()
                ? versions(ref.name()).values().stream()
                        .map(each -> each.ref().version())
                        .toList()
                : List.of(model.ref().version());
        return Optional.of(new ModelMetadata(
                ref.name(), versions, OnnxModel.PLATFORM, model.inputs(), model.outputs(), model.parameters()));
    }

    private NavigableMap<Long, OnnxModel> versions(String name) {
        return loaded.getOrDefault(name, new TreeMap<>());
    }

    /** The version asked for, or else the highest. */
    private @Nullable OnnxModel find(ModelRef ref) {
        NavigableMap<Long, OnnxModel> versions = versions(ref.name());
        if (ref.version().isEmpty()) {
            return versions.isEmpty() ? null : versions.lastEntry().getValue();
        }
        return ref.version().matches("[0-9]{1,18}") ? versions.get(Long.parseLong(ref.version())) : null;
    }

    /**
     * Runs a model.
     *
     * @param request taken
     * @param deadlineNanos on the scale of {@link System#nanoTime()}, {@link Long#MAX_VALUE} for none: a request that is
     *     still queued then is not run
     * @param callback gets the answer or NOT_FOUND, INVALID_ARGUMENT, UNAVAILABLE, DEADLINE_EXCEEDED, CANCELLED or INTERNAL
     */
    public Cancellable infer(InferRequest request, long deadlineNanos, ByteBufAllocator allocator, Callback callback) {
        OnnxModel model = find(request.model());
        if (model == null || !model.retain()) {
            request.release();
            callback.failed(new OipException(ErrorCode.NOT_FOUND, "unknown model " + request.model()));
            return () -> {};
        }
        LocalRun run = new LocalRun(model, request, deadlineNanos, allocator, callback);
        try {
            model.require(request);
            executor.execute(run);
            return run;
        } catch (OipException failure) {
            run.end();
            callback.failed(failure);
            return () -> {};
        }
    }

    /** Finishes what is queued and unloads the models. */
    @Override
    public void close() {
        executor.close();
        loaded.values().forEach(versions -> versions.values().forEach(OnnxModel::release));
    }
}
