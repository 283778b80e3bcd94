package dev.isthmus.local.repository;

import dev.isthmus.oip.ModelMetadata.TensorMetadata;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What is configured of a model. */
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
            new ModelSettings(new VersionPolicy(), 0, Duration.ZERO, 0, true, null, 1, null, List.of(), List.of());
}
