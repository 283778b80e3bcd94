package dev.isthmus.gateway.shadow;

import io.micrometer.core.instrument.Tags;

/**
 * Identifies a shadow of a model.
 *
 * @param model the route's key
 */
record ShadowName(String model, String shadow) {

    Tags tags() {
        return Tags.of("model", model, "shadow", shadow);
    }
}
