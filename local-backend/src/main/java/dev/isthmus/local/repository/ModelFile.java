package dev.isthmus.local.repository;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a model's configuration says.
 *
 * @param name null where it gives none
 * @param file the name of the model's file in a version's folder, or where MLServer's settings say that the model is; null
 *     where it gives none
 * @param version the only one, by MLServer's settings; null where they give none
 * @param ignored fields that have no effect here
 */
record ModelFile(
        @Nullable String name,
        ModelSettings settings,
        List<WarmUpRequest> warmUps,
        @Nullable String file,
        @Nullable Long version,
        List<String> ignored) {

    static final ModelFile NONE = new ModelFile(null, ModelSettings.DEFAULT, List.of(), null, null, List.of());

    ModelFile {
        warmUps = List.copyOf(warmUps);
        ignored = List.copyOf(ignored);
    }
}
