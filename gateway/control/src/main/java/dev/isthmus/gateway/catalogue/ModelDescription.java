package dev.isthmus.gateway.catalogue;

import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.ModelRef;

/**
 * What one server says of a model.
 *
 * @param asked the name and the version that it was asked for, as a target has them
 * @param ready whether the model is ready there
 */
public record ModelDescription(ServerId source, ModelRef asked, boolean ready, ModelMetadata metadata) {

    /** KServe and models of MLServer without settings name no tensors at all: they disagree with nobody. */
    boolean namesTensors() {
        return !metadata.inputs().isEmpty() || !metadata.outputs().isEmpty();
    }
}
