package dev.isthmus.local.repository;

import java.nio.file.Path;
import java.util.List;
import java.util.function.Supplier;

/**
 * One version of a model, not yet loaded.
 *
 * @param version a number
 * @param onnx reads the file; fails with an OipException where it cannot
 * @param jars of its translator, in the order of their names
 */
public record ModelSource(String name, String version, ModelSettings settings, Supplier<byte[]> onnx, List<Path> jars) {

    public ModelSource {
        jars = List.copyOf(jars);
    }
}
