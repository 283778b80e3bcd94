package dev.isthmus.gateway.catalogue;

import dev.isthmus.oip.ModelMetadata;

/**
 * What one server says of a model.
 *
 * @param ready whether the model is ready there
 */
public record Described(Source source, boolean ready, ModelMetadata metadata) {

    /** KServe and models of MLServer without settings name no tensors at all: they disagree with nobody. */
    boolean namesTensors() {
        return !metadata.inputs().isEmpty() || !metadata.outputs().isEmpty();
    }
}
