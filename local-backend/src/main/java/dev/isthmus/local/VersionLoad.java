package dev.isthmus.local;

import dev.isthmus.local.call.RunningModels;
import dev.isthmus.local.ort.OnnxModel;
import dev.isthmus.local.ort.RunHandle;
import dev.isthmus.local.repository.FoundModel;
import dev.isthmus.local.repository.ModelSource;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.function.Consumer;

/** Opens a version of a model, checks it against its configuration and warms it up. */
final class VersionLoad implements LoadThreads.LoadStep<OnnxModel> {
    private final ModelSource source;
    private final FoundModel found;
    private final String device;
    private final Consumer<OnnxModel> opened;
    private final RunHandle handle = new RunHandle();
    private volatile String activity = "reading and opening its file";

    /**
     * @param device the device if the model configures none
     * @param opened is called with the model when it can serve
     */
    VersionLoad(ModelSource source, FoundModel found, String device, Consumer<OnnxModel> opened) {
        this.source = source;
        this.found = found;
        this.device = device;
        this.opened = opened;
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
                if (source.settings().warmUp()) {
                    activity = "its warm-up";
                    new WarmUpRun(model, new SplittableRandom(), handle).run(found.warmUps());
                }
                opened.accept(model);
                return model;
            } catch (RuntimeException e) {
                model.release();
                throw e;
            }
        } finally {
            RunningModels.ended(loading);
        }
    }
}
