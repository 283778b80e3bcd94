package dev.isthmus.gateway.catalogue;

import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.ModelRef;

/**
 * One server's description of a model.
 *
 * @param requested the requested name and version, as in the target
 * @param ready whether the model is ready on the server
 */
public record ModelDescription(ServerId source, ModelRef requested, boolean ready, ModelMetadata metadata) {

    /** False for KServe, and for MLServer models without settings, which list no tensors: they never disagree. */
    boolean namesTensors() {
        return !metadata.inputs().isEmpty() || !metadata.outputs().isEmpty();
    }
}
