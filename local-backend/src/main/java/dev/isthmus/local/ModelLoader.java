package dev.isthmus.local;

import dev.isthmus.local.ModelVersions.Served;
import dev.isthmus.local.call.RunningModels;
import dev.isthmus.local.ort.OnnxModel;
import dev.isthmus.local.ort.RunHandle;
import dev.isthmus.local.repository.FoundModel;
import dev.isthmus.local.repository.ModelRepository;
import dev.isthmus.local.repository.ModelSource;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/**
 * Loads and unloads models, on one thread at a time for each model. The served versions of a model are replaced when all
 * new versions are ready; if one fails, the previous versions stay loaded.
 */
final class ModelLoader {
    private static final Logger LOG = LoggerFactory.getLogger(ModelLoader.class);

    private static final String INTERNAL = "it could not be loaded: internal error";

    private final ModelRepository repository;
    private final LoadedModels models;
    private final String device;
    private final LoadThreads threads;
    private final Consumer<OnnxModel> opened;

    /**
     * @param device the device of models that do not configure one
     * @param opened is called with each model before it serves
     */
    ModelLoader(
            ModelRepository repository,
            LoadedModels models,
            String device,
            LoadThreads threads,
            Consumer<OnnxModel> opened) {
        this.repository = repository;
        this.models = models;
        this.device = device;
        this.threads = threads;
        this.opened = opened;
    }

    /**
     * Loads a model.
     *
     * @throws OipException NOT_FOUND, or FAILED_PRECONDITION with the reason of each version that is not loaded
     */
    void load(String name) {
        ModelVersions before = models.of(name);
        models.put(name, before.withLoading());
        NavigableMap<Long, Served> fresh = new TreeMap<>();
        NavigableMap<Long, String> problems = new TreeMap<>();
        try {
            FoundModel found = threads.call(new Search(name));
            problems.putAll(found.refused());
            found.sources().forEach((version, source) -> {
                try {
                    OnnxModel model = open(source, found);
                    Served last = before.served().get(version);
                    fresh.put(version, new Served(model, last == null ? new ModelCounts() : last.counts()));
                } catch (OipException e) {
                    problems.put(version, e.message());
                }
            });
        } catch (OipException e) {
            if (e.code() == ErrorCode.NOT_FOUND && before.unknown()) {
                models.remove(name);
                throw e;
            }
            problems.put(ModelVersions.WHOLE, e.message());
        } catch (RuntimeException | Error fault) {
            LOG.error("internal error in loading model '{}'; please report it", name, fault);
            problems.put(ModelVersions.WHOLE, INTERNAL);
        }
        publish(name, before, fresh, problems);
    }

    private void publish(
            String name, ModelVersions before, NavigableMap<Long, Served> fresh, NavigableMap<Long, String> problems) {
        if (problems.isEmpty() || before.served().isEmpty()) {
            models.put(name, new ModelVersions(fresh, problems, false));
        } else {
            fresh.values().forEach(served -> served.model().release());
            models.put(name, before.failed(problems));
        }
        if (!problems.isEmpty()) {
            OipException failure = failure(name, problems, !before.served().isEmpty());
            LOG.atLevel(threads.closed() ? Level.DEBUG : Level.ERROR)
                    .addKeyValue("model", name)
                    .log("{}", failure.message());
            throw failure;
        }
        LOG.atInfo()
                .addKeyValue("model", name)
                .log(
                        "model '{}' is loaded, versions {}",
                        name,
                        fresh.values().stream().map(Served::version).toList());
    }

    private static OipException failure(String name, Map<Long, String> problems, boolean kept) {
        StringBuilder text = new StringBuilder("model '" + name + "' is not loaded");
        if (kept) {
            text.append(", the previous versions stay loaded");
        }
        problems.forEach((version, problem) -> {
            text.append(text.indexOf(": ") < 0 ? ": " : "; ");
            String number = ModelVersions.shown(version);
            text.append(number.isEmpty() ? "" : "version " + number + ": ").append(problem);
        });
        return new OipException(ErrorCode.FAILED_PRECONDITION, text.toString());
    }

    private OnnxModel open(ModelSource source, FoundModel found) {
        try {
            return threads.call(new VersionLoad(source, found));
        } catch (OipException e) {
            if (e.getCause() != null) {
                LOG.debug("model '{}' version {}: {}", source.name(), source.version(), e.message(), e.getCause());
            }
            throw e;
        } catch (OutOfMemoryError fault) {
            throw new OipException(ErrorCode.FAILED_PRECONDITION, "it could not be loaded: out of memory", fault);
        } catch (RuntimeException | Error fault) {
            LOG.error(
                    "internal error in loading model '{}' version {}; please report it",
                    source.name(),
                    source.version(),
                    fault);
            throw new OipException(ErrorCode.FAILED_PRECONDITION, INTERNAL, fault);
        }
    }

    /** Finds a model, which reads files. */
    private final class Search implements LoadThreads.LoadStep<FoundModel> {
        private final String name;

        Search(String name) {
            this.name = name;
        }

        @Override
        public String subject() {
            return "model '" + name + "'";
        }

        @Override
        public String activity() {
            return "reading its folder";
        }

        @Override
        public FoundModel run() {
            return repository.find(name);
        }
    }

    /**
     * Unloads a model; returns the versions that were loaded.
     *
     * @throws OipException NOT_FOUND for a model that is not loaded
     */
    List<OnnxModel> unload(String name) {
        ModelVersions before = models.of(name);
        if (before.served().isEmpty()) {
            throw new OipException(ErrorCode.NOT_FOUND, "model '" + name + "' is not loaded");
        }
        models.put(name, before.unloaded());
        LOG.atInfo().addKeyValue("model", name).log("model '{}' is unloaded", name);
        return before.served().values().stream().map(Served::model).toList();
    }

    /** Opens a version of a model, checks it against its configuration and warms it up. */
    private final class VersionLoad implements LoadThreads.LoadStep<OnnxModel> {
        private final ModelSource source;
        private final FoundModel found;
        private final RunHandle handle = new RunHandle();
        private volatile String activity = "reading and opening its file";

        VersionLoad(ModelSource source, FoundModel found) {
            this.source = source;
            this.found = found;
        }

        @Override
        public String subject() {
            return "model '" + source.name() + "' version " + source.version();
        }

        @Override
        public String activity() {
            return activity;
        }

        @Override
        public void terminate() {
            handle.terminate();
        }

        @Override
        public void discard(OnnxModel result) {
            result.release();
        }

        @Override
        public OnnxModel run() {
            int loading = RunningModels.begun(source.name());
            try (handle) {
                String placed = Objects.requireNonNullElse(source.settings().device(), device);
                OnnxModel model = OnnxModel.load(source, placed);
                try {
                    activity = "its warm-up";
                    new WarmUpRun(model, new SplittableRandom(), handle).run(found.warmUps());
                    opened.accept(model);
                    return model;
                } catch (RuntimeException | Error e) {
                    model.release();
                    throw e;
                }
            } finally {
                RunningModels.ended(loading);
            }
        }
    }
}
