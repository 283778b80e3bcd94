package dev.isthmus.local;

import dev.isthmus.local.ModelVersions.Served;
import dev.isthmus.local.call.Cancellable;
import dev.isthmus.local.call.InferCallback;
import dev.isthmus.local.call.ProcessFolder;
import dev.isthmus.local.ort.OnnxModel;
import dev.isthmus.local.ort.OrtJar;
import dev.isthmus.local.repository.ModelRepository;
import dev.isthmus.local.run.LocalExecutor;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.proto.config.ModelConfig;
import io.netty.buffer.ByteBufAllocator;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs ONNX models in this process, and loads and unloads them at run time. A model that cannot be loaded is logged and
 * listed with the reason; other models are not affected. Thread-safe; only {@code await} and close block.
 */
public final class LocalBackend implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(LocalBackend.class);
    private static final String ALL = "*";
    private static final String MISSING =
            "'local' and the embedded models need ONNX Runtime, which this distribution is built without";
    private static final String CRASHED = "it ran at three crashes of the process of the local models";
    private static final int CHANGES = 1024;
    private static final int LISTINGS = 64;
    private static final int OBSTACLES = 3;

    /** Receives a result, on a thread of the backend or on the caller's. */
    public interface Outcome<T> {
        void done(T value);

        void failed(OipException failure);
    }

    private final LocalSettings settings;
    private final ModelRepository repository;
    private final LoadedModels models = new LoadedModels();
    private final ModelLoader loader;
    private final LocalExecutor executor;
    private final LoadThreads loads;
    private final ModelChanges changes =
            new ModelChanges(Math.max(2, Runtime.getRuntime().availableProcessors()), CHANGES);
    private final ModelChanges listing = new ModelChanges(1, LISTINGS);
    /** The models to load at start, except those unloaded since. */
    private final Set<String> wanted = ConcurrentHashMap.newKeySet();

    private final CompletableFuture<Void> started;

    private LocalBackend(LocalSettings settings) {
        this.settings = settings;
        this.repository = ModelRepository.of(settings.repository(), settings.embedded());
        this.wanted.addAll(atStart());
        this.wanted.removeAll(excluded());
        this.executor = new LocalExecutor(settings.threads(), settings.queueSize());
        this.loads = new LoadThreads(settings.loadTimeout());
        this.loader = new ModelLoader(repository, models, settings.device(), loads, executor::prepare);
        this.started = loadAtStart(new TreeSet<>(wanted));
    }

    private Collection<String> atStart() {
        boolean all = !settings.explicitControl() || settings.load().contains(ALL);
        return all ? repository.names() : settings.load();
    }

    /** Models that ran at too many crashes of this process are in the index with the reason, and are not missed. */
    private List<String> excluded() {
        ProcessFolder own = ProcessFolder.ofThisProcess();
        List<String> excluded = own == null ? List.of() : own.excludedModels();
        excluded.forEach(name -> models.put(name, ModelVersions.NONE.failed(Map.of(ModelVersions.WHOLE, CRASHED))));
        return excluded;
    }

    private CompletableFuture<Void> loadAtStart(SortedSet<String> names) {
        names.forEach(name -> models.put(name, ModelVersions.NONE.withLoading()));
        List<CompletableFuture<Void>> ends = new ArrayList<>();
        for (String name : names) {
            StartLoad end = new StartLoad(new CompletableFuture<>());
            changes.add(name, () -> loaded(name), end);
            ends.add(end.ended);
        }
        return CompletableFuture.allOf(ends.toArray(CompletableFuture[]::new));
    }

    private String loaded(String name) {
        loader.load(name);
        ProcessFolder own = ProcessFolder.ofThisProcess();
        if (own != null) {
            own.admit(name);
        }
        return name;
    }

    /** Ends a load of the start; failures other than NOT_FOUND were logged. */
    private record StartLoad(CompletableFuture<Void> ended) implements Outcome<String> {

        @Override
        public void done(String name) {
            ended.complete(null);
        }

        @Override
        public void failed(OipException failure) {
            if (failure.code() == ErrorCode.NOT_FOUND) {
                LOG.error("{}", failure.message());
            }
            ended.complete(null);
        }
    }

    /** Whether a backend can be started: a distribution may be without ONNX Runtime. */
    public static boolean available() {
        return OrtJar.present(LocalBackend.class.getClassLoader());
    }

    /**
     * Refuses a configuration that needs a backend.
     *
     * @throws OipException FAILED_PRECONDITION if it is not {@link #available()}
     */
    public static void requireAvailable() {
        if (!available()) {
            throw new OipException(ErrorCode.FAILED_PRECONDITION, MISSING);
        }
    }

    /**
     * Starts the backend, which loads the models configured for the start in the background.
     *
     * @throws OipException if the repository cannot be read, FAILED_PRECONDITION if it is not {@link #available()}
     */
    public static LocalBackend start(LocalSettings settings) {
        requireAvailable();
        return new LocalBackend(settings);
    }

    /** Waits until the models configured for the start are loaded or have failed. */
    public LocalBackend awaitStart() {
        started.join();
        return this;
    }

    /** Completed when the models configured for the start are loaded or have failed. */
    public CompletableFuture<Void> started() {
        return started;
    }

    /** The number of threads whose load did not end although it was terminated. */
    public int abandonedLoads() {
        return loads.abandoned();
    }

    /** The names of the models that are loaded, are loading or failed to load. */
    public Set<String> models() {
        return models.all().keySet();
    }

    /** The number of queued requests. */
    public int queued() {
        return executor.waiting();
    }

    /** The number of threads that run a model. */
    public int busyThreads() {
        return executor.busy();
    }

    /** The number of threads whose run goes on although it was terminated. */
    public int stuckThreads() {
        return executor.stuck();
    }

    public LocalSettings settings() {
        return settings;
    }

    /**
     * Why it is not ready; empty if all models configured for the start are loaded and can run, except those unloaded
     * since.
     */
    public String obstacle() {
        return wanted.stream()
                .filter(name -> !ready(ModelRef.of(name)))
                .sorted()
                .limit(OBSTACLES)
                .map(name -> obstacle(ModelRef.of(name)))
                .collect(Collectors.joining("; "));
    }

    private String obstacle(ModelRef model) {
        return models.find(model) == null
                ? notServed(model).message()
                : "model '" + model.name() + "' can run nothing, for its runs do not end although they were terminated";
    }

    /** Whether a model is loaded, and not all of its runs go on after they were terminated. */
    public boolean ready(ModelRef model) {
        Served served = models.find(model);
        return served != null && !executor.blocked(served.model());
    }

    /** The metadata of a loaded model. */
    public Optional<ModelMetadata> metadata(ModelRef ref) {
        ModelVersions versions = models.of(ref.name());
        Served served = versions.find(ref.version());
        if (served == null) {
            return Optional.empty();
        }
        List<String> numbers = ref.version().isEmpty()
                ? versions.served().values().stream().map(Served::version).toList()
                : List.of(served.model().ref().version());
        return Optional.of(new ModelMetadata(
                ref.name(),
                numbers,
                OnnxModel.PLATFORM,
                served.model().inputs(),
                served.model().outputs(),
                served.model().parameters()));
    }

    /** The configuration of a loaded model, in Triton's form. */
    public Optional<ModelConfig> config(ModelRef ref) {
        Served served = models.find(ref);
        return served == null ? Optional.empty() : Optional.of(ServedConfig.of(served.model(), settings.threads()));
    }

    /**
     * The statistics of loaded versions.
     *
     * @param ref without a name: all models; without a version: all versions
     */
    public List<LocalStatistics> statistics(ModelRef ref) {
        List<LocalStatistics> all = new ArrayList<>();
        new TreeMap<>(models.all()).forEach((name, versions) -> {
            if (ref.name().isEmpty() || ref.name().equals(name)) {
                versions.served().values().stream()
                        .filter(served -> ref.version().isEmpty()
                                || ref.version().equals(served.model().ref().version()))
                        .forEach(served -> all.add(
                                served.counts().statistics(served.model().ref())));
            }
        });
        return all;
    }

    /** Lists all models of the repository with the state of their versions. */
    public void index(Outcome<List<ModelStatus>> outcome) {
        listing.offer("", this::list, outcome);
    }

    private List<ModelStatus> list() {
        SortedSet<String> names = repository.names();
        Map<String, ModelVersions> known = models.all();
        names.addAll(known.keySet());
        List<ModelStatus> statuses = new ArrayList<>();
        for (String name : names) {
            ModelVersions versions = known.get(name);
            statuses.addAll(
                    versions == null
                            ? List.of(new ModelStatus(name, "", ModelStatus.State.UNAVAILABLE, "not loaded"))
                            : versions.status(name));
        }
        return statuses;
    }

    /**
     * Loads or reloads a model. Versions loaded before serve until all new versions are ready, and stay loaded if one
     * fails.
     *
     * @param outcome receives the name, or NOT_FOUND, or FAILED_PRECONDITION with the reason
     */
    public void load(String name, Outcome<String> outcome) {
        change(name, outcome, this::loaded);
    }

    /**
     * Unloads a model. Requests in flight have 10 s to complete.
     *
     * @param outcome receives the name, or NOT_FOUND for a model that is not loaded
     */
    public void unload(String name, Outcome<String> outcome) {
        change(name, outcome, model -> {
            // A model that failed to load no longer affects readiness either.
            wanted.remove(model);
            loader.unload(model).forEach(executor::unload);
            return model;
        });
    }

    private void change(String name, Outcome<String> outcome, Function<String, String> change) {
        if (!settings.explicitControl()) {
            outcome.failed(new OipException(
                    ErrorCode.FAILED_PRECONDITION,
                    "the local backend loads and unloads models only with 'model_control: explicit', got 'none'"));
            return;
        }
        changes.offer(name, () -> change.apply(name), outcome);
    }

    /**
     * Runs a model.
     *
     * @param request taken
     * @param deadlineNanos the deadline in {@link System#nanoTime()}, {@link Long#MAX_VALUE} for none; ends the
     *     request, whether queued or running
     * @param callback receives the response or NOT_FOUND, UNAVAILABLE while the model is loaded, INVALID_ARGUMENT, OVERLOADED, UNAVAILABLE, DEADLINE_EXCEEDED,
     *     CANCELLED or INTERNAL
     */
    public Cancellable infer(
            InferRequest request, long deadlineNanos, ByteBufAllocator allocator, InferCallback callback) {
        Served served = models.use(request.model());
        if (served == null) {
            request.release();
            callback.failed(notServed(request.model()));
            return () -> {};
        }
        long rows = ModelCounts.rows(request, served.model().settings().maxBatchSize());
        CountingReply counting = new CountingReply(callback, served.counts(), rows);
        return executor.submit(served.model(), request, deadlineNanos, allocator, counting);
    }

    /** The failure of a request for a model that is not loaded: UNAVAILABLE while it is loading, else NOT_FOUND. */
    public OipException notServed(ModelRef ref) {
        ModelVersions versions = models.of(ref.name());
        if (versions.loading() && versions.served().isEmpty()) {
            return new OipException(ErrorCode.UNAVAILABLE, "model " + ref + " is loading");
        }
        String message = versions.status(ref.name()).stream()
                .filter(status -> ref.version().isEmpty() || ref.version().equals(status.version()))
                .map(ModelStatus::reason)
                .filter(reason -> !reason.isEmpty())
                .findFirst()
                .map(reason -> "model " + ref + " is not loaded: " + reason)
                .orElse("unknown model " + ref);
        return new OipException(ErrorCode.NOT_FOUND, message);
    }

    /** Ends active loads, waits for active runs and unloads the models. Blocks. */
    @Override
    public void close() {
        listing.close();
        changes.drain();
        loads.close();
        changes.close();
        executor.close();
        models.close();
    }

    /** Counts a request's outcome and forwards it. Used by one thread at a time. */
    private static final class CountingReply implements InferCallback {
        private final InferCallback callback;
        private final ModelCounts counts;
        private final long rows;
        private final long arrived = System.nanoTime();
        private long started = arrived;

        CountingReply(InferCallback callback, ModelCounts counts, long rows) {
            this.callback = callback;
            this.counts = counts;
            this.rows = rows;
        }

        @Override
        public void started(boolean first) {
            started = System.nanoTime();
            counts.started(first, started - arrived);
            callback.started(first);
        }

        @Override
        public void done(InferResponse response) {
            long now = System.nanoTime();
            counts.succeeded(rows, now - arrived, now - started);
            callback.done(response);
        }

        @Override
        public void failed(OipException failure) {
            counts.failed(System.nanoTime() - arrived);
            callback.failed(failure);
        }
    }
}
