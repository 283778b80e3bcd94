package dev.isthmus.local.repository;

import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One version of a model, not yet loaded.
 *
 * @param version the version number
 * @param onnx its file
 * @param jars the translator's jars, sorted by name
 */
public record ModelSource(String name, String version, ModelSettings settings, OnnxFile onnx, List<Path> jars) {

    /** A model's file. */
    @FunctionalInterface
    public interface OnnxFile {
        /** Its bytes; throws an OipException if it cannot be read. */
        byte[] read();

        /** The folder with the files of its external data, without links; null if it has none. */
        default @Nullable Path folder() {
            return null;
        }
    }

    public ModelSource {
        jars = List.copyOf(jars);
    }
}
