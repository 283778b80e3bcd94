package dev.isthmus.local.run;

import dev.isthmus.local.ort.OnnxModel;
import dev.isthmus.local.repository.Declaration;
import dev.isthmus.local.repository.ModelSettings;
import dev.isthmus.local.repository.TensorConfig;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.ModelMetadata.TensorMetadata;
import java.time.Duration;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The limits for sharing runs between a model's requests.
 *
 * @param maxRows the maximum rows of a run
 * @param delayNanos how long a run waits for more rows; 0 to take only what is queued
 */
record Batching(int maxRows, long delayNanos) {
    private static final Logger LOG = LoggerFactory.getLogger(Batching.class);

    /**
     * The batching configured for a model, if the model supports it: every input and output must have a variable first
     * dimension, which is the batch. Otherwise a warning is logged and its requests run singly.
     */
    static @Nullable Batching of(OnnxModel model) {
        ModelSettings settings = model.settings();
        Duration delay = settings.maxQueueDelay();
        if (delay == null
                || settings.maxBatchSize() <= 1
                || settings.inputs().stream().anyMatch(TensorConfig::ragged)) {
            return null;
        }
        Optional<TensorMetadata> unsupported = Stream.concat(model.inputs().stream(), model.outputs().stream())
                .filter(tensor -> Declaration.anyShape(tensor)
                        || tensor.shape().rank() == 0
                        || tensor.shape().extent(0) >= 0)
                .findFirst();
        if (unsupported.isPresent()) {
            LOG.warn(
                    "model {} runs without batching: '{}' has the shape {}, whose first dimension is not variable",
                    model.ref(),
                    unsupported.get().name(),
                    unsupported.get().shape());
            return null;
        }
        return new Batching(settings.maxBatchSize(), Math.max(0, delay.toNanos()));
    }

    /** The key of a request; null if it must run alone. */
    @Nullable
    BatchKey keyOf(InferRequest request) {
        return BatchKey.of(request, maxRows);
    }

    /** The rows that a request takes in a batch; a request that must run alone fills it. */
    int rows(LocalRun run) {
        BatchKey batchKey = run.batchKey();
        return batchKey == null ? maxRows : batchKey.rows();
    }
}
