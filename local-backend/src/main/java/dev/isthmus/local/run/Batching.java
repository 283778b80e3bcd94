package dev.isthmus.local.run;

import dev.isthmus.local.ort.OnnxModel;
import dev.isthmus.local.repository.ModelSettings;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.ModelMetadata.TensorMetadata;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * That a model's requests may share runs, and how many.
 *
 * @param maxRows of one run
 * @param delayNanos how long a run waits for more rows than there are; 0: it takes what is queued
 */
record Batching(int maxRows, long delayNanos) {
    private static final Logger LOG = LoggerFactory.getLogger(Batching.class);

    /**
     * As the model's settings ask for it, if the model can: every input and output must have a first dimension of any size,
     * which is the batch. Where it cannot, its requests run singly, which is logged.
     */
    static @Nullable Batching of(OnnxModel model) {
        ModelSettings settings = model.settings();
        if (settings.maxBatchSize() <= 1) {
            return null;
        }
        Optional<TensorMetadata> odd = Stream.concat(model.inputs().stream(), model.outputs().stream())
                .filter(tensor -> tensor.shape().rank() == 0 || tensor.shape().extent(0) >= 0)
                .findFirst();
        if (odd.isPresent()) {
            LOG.warn(
                    "model {} runs without batching: '{}' has the shape {}, whose first dimension is no batch of any size",
                    model.ref(),
                    odd.get().name(),
                    odd.get().shape());
            return null;
        }
        return new Batching(
                settings.maxBatchSize(), Math.max(0, settings.maxQueueDelay().toNanos()));
    }

    /** How a request may share a run; null where it must not. */
    @Nullable
    BatchKey fit(InferRequest request) {
        return BatchKey.of(request, maxRows);
    }

    /** Rows that a run counts; one that must run alone fills it. */
    int rows(LocalRun run) {
        BatchKey fit = run.fit();
        return fit == null ? maxRows : fit.rows();
    }
}
