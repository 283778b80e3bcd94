package dev.isthmus.local.repository;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A model's configuration file.
 *
 * @param name null if not given
 * @param file the name of the model's file in a version's folder, or the path in MLServer's settings; null if not given
 * @param version the only version, from MLServer's settings; null if not given
 * @param ignored the fields that have no effect
 */
record ModelFile(
        @Nullable String name,
        ModelSettings settings,
        List<WarmUpRequest> warmUps,
        @Nullable String file,
        @Nullable String version,
        List<String> ignored) {

    static final ModelFile NONE = new ModelFile(null, ModelSettings.DEFAULT, List.of(), null, null, List.of());

    ModelFile {
        warmUps = List.copyOf(warmUps);
        ignored = List.copyOf(ignored);
    }
}
