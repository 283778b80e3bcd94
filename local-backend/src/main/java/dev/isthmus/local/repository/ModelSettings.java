package dev.isthmus.local.repository;

import dev.isthmus.oip.ModelMetadata.TensorMetadata;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A model's settings from its config.pbtxt or model-settings.json, or the defaults.
 *
 * @param maxBatchSize the maximum rows of a batch; 0 and 1 disable batching
 * @param maxQueueDelay how long a request may wait for a fuller batch
 * @param instances the maximum concurrent runs; 0 for the number of threads
 * @param warmUp whether the model is run once before it is ready
 * @param device cpu, gpu:N or auto; null for the backend's
 * @param intraOpThreads the threads of one run
 * @param translator the translator's class; null if not given
 * @param inputs the configured inputs, in the model's shapes including the batch dimension; may be empty
 * @param outputs the configured outputs, like {@code inputs}
 */
public record ModelSettings(
        VersionPolicy versions,
        int maxBatchSize,
        Duration maxQueueDelay,
        int instances,
        boolean warmUp,
        @Nullable String device,
        int intraOpThreads,
        @Nullable String translator,
        List<TensorMetadata> inputs,
        List<TensorMetadata> outputs) {

    public static final ModelSettings DEFAULT =
            new ModelSettings(VersionPolicy.DEFAULT, 0, Duration.ZERO, 0, true, null, 1, null, List.of(), List.of());

    public ModelSettings {
        inputs = List.copyOf(inputs);
        outputs = List.copyOf(outputs);
    }

    /** A copy without batching. */
    public ModelSettings unbatched() {
        return new ModelSettings(
                versions, 0, maxQueueDelay, instances, warmUp, device, intraOpThreads, translator, inputs, outputs);
    }
}
