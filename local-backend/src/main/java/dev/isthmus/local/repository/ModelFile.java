package dev.isthmus.local.repository;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A model's configuration file.
 *
 * @param name null if not given
 * @param labels the names of the files with the labels of outputs' classes, by output
 * @param file the name of the model's file in a version's folder, or the path in MLServer's settings; null if not given
 * @param version the only version, from MLServer's settings; null if not given
 * @param ignored the fields that have no effect
 */
record ModelFile(
        @Nullable String name,
        ModelSettings settings,
        List<WarmUpRequest> warmUps,
        Map<String, String> labels,
        @Nullable String file,
        @Nullable String version,
        List<String> ignored) {

    static final ModelFile NONE =
            new ModelFile(null, ModelSettings.DEFAULT, List.of(), Map.of(), null, null, List.of());

    ModelFile {
        warmUps = List.copyOf(warmUps);
        labels = Map.copyOf(labels);
        ignored = List.copyOf(ignored);
    }
}
