package dev.isthmus.local.repository;

import java.nio.file.Path;
import java.util.List;
import java.util.function.Supplier;

/**
 * One version of a model, not yet loaded.
 *
 * @param version the version number
 * @param onnx reads the file; throws an OipException if that fails
 * @param jars the translator's jars, sorted by name
 */
public record ModelSource(String name, String version, ModelSettings settings, Supplier<byte[]> onnx, List<Path> jars) {

    public ModelSource {
        jars = List.copyOf(jars);
    }
}
