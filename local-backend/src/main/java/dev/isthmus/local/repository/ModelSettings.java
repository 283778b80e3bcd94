package dev.isthmus.local.repository;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A model's settings from its config.pbtxt or model-settings.json, or the defaults.
 *
 * @param maxBatchSize the maximum rows of a batch; 0 if there is no batch dimension
 * @param maxQueueDelay how long a request may wait for others to share its run; null if it runs alone
 * @param instances the maximum concurrent runs; 0 for the number of threads
 * @param device cpu, gpu:N or auto; null for the backend's
 * @param intraOpThreads the threads of one run
 * @param translator the translator's class; null if not given
 * @param inputs the configured inputs; may be empty
 * @param outputs the configured outputs; may be empty
 * @param limits whether requests are held to {@code maxBatchSize}, inputs and outputs, as by Triton; MLServer does not
 * @param labels the labels of outputs' classes, by output
 */
public record ModelSettings(
        VersionPolicy versions,
        int maxBatchSize,
        @Nullable Duration maxQueueDelay,
        int instances,
        @Nullable String device,
        int intraOpThreads,
        @Nullable String translator,
        List<TensorConfig> inputs,
        List<TensorConfig> outputs,
        boolean limits,
        Map<String, List<String>> labels) {

    public static final ModelSettings DEFAULT =
            new ModelSettings(VersionPolicy.DEFAULT, 0, null, 0, null, 1, null, List.of(), List.of(), true, Map.of());

    public ModelSettings {
        inputs = List.copyOf(inputs);
        outputs = List.copyOf(outputs);
        labels = Map.copyOf(labels);
    }

    /** A copy with these labels. */
    ModelSettings withLabels(Map<String, List<String>> others) {
        return with(maxBatchSize, maxQueueDelay, others);
    }

    /** A copy without a batch dimension. */
    public ModelSettings unbatched() {
        return with(0, null, labels);
    }

    private ModelSettings with(int batch, @Nullable Duration delay, Map<String, List<String>> others) {
        return new ModelSettings(
                versions, batch, delay, instances, device, intraOpThreads, translator, inputs, outputs, limits, others);
    }
}
