package dev.isthmus.gateway.settings;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

@Doc("ONNX models run by the gateway itself, as the upstream 'local'.")
public record LocalConfig(
        @Doc("Directory of models in Triton's layout, relative to the configuration file.") @Nullable
        Path modelRepository,

        @Doc("Whether the models 'digits' and 'simple', which come with the gateway, are served.")
        boolean embeddedModels,

        @Doc("Threads that run models. 0: one for each core.") @Range(max = 1024) @Default("0")
        int threads,

        @Doc("Maximum number of requests that wait for a thread; more are refused " + "with 503.")
        @Range(min = 1, max = 1_000_000)
        @Default("256")
        int queueSize,

        @Doc("none: all models are loaded at start; explicit: those of 'load', others by load and unload requests.")
        @Default("none")
        ModelControl modelControl,

        @Doc("Models that are loaded at start with explicit control; '*' for all.")
        List<String> load,

        @Doc("Device of models that name none: cpu, gpu:N or auto.") @Default("cpu")
        String device,

        @Doc("Maximum time in which a version of a model is opened, and warmed up; then its load fails.") @Default("2m")
        Duration loadTimeout,

        @Doc("Timeout of one call, or of one message of a stream, if the client sets no deadline.") @Default("60s")
        Duration timeout,

        @Doc("own: models run in a process of their own, which the gateway starts, and starts again after a crash of "
                + "native code; shared: in the gateway's process, which such a crash ends.")
        @Default("shared")
        ProcessKind process)
        implements CheckedSection {
    public static final LocalConfig DEFAULT = DefaultValues.of(LocalConfig.class);
    public static final LocalConfig EMBEDDED = DefaultValues.with(DEFAULT, "embeddedModels", true);

    @Override
    public void check(SectionCheck check) {
        if (check.valid() && modelRepository == null && !embeddedModels) {
            check.problem("'model_repository' or 'embedded_models: true' is expected");
        } else if (modelRepository != null && !Files.isDirectory(modelRepository)) {
            check.problem("model_repository", modelRepository + " is not a directory");
        }
        if (check.valid("model_control") && !load.isEmpty() && modelControl != ModelControl.EXPLICIT) {
            check.problem("load", "requires 'model_control: explicit', since otherwise all models are loaded");
        }
        check.expect(device.matches("cpu|auto|gpu:[0-9]{1,3}"), "device", "cpu, gpu:N or auto is expected", device);
    }

    /** Where models run. */
    public enum ProcessKind {
        SHARED,
        OWN
    }
}
