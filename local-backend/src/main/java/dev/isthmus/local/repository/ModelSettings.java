package dev.isthmus.local.repository;

import dev.isthmus.oip.ModelMetadata.TensorMetadata;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What is configured of a model, by its config.pbtxt or model-settings.json or by default.
 *
 * @param maxBatchSize how many requests' rows may be run together; 0 and 1: requests run by themselves
 * @param maxQueueDelay how long a request may wait for others to be run with
 * @param instances runs at the same time; 0: as many as there are threads
 * @param warmUp whether the model is run once before it is ready
 * @param device cpu, gpu:N or auto; null: the backend's
 * @param intraOpThreads threads of one run
 * @param translator the name of a class; null: none is named
 * @param inputs those that are declared, in the shapes of the model, batch dimension included; may be empty
 * @param outputs as the inputs
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
}
