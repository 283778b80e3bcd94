package dev.isthmus.local.repository;

import java.nio.file.Path;
import java.util.List;
import java.util.function.Supplier;

/** One version of a model, not yet loaded. */
public record ModelSource(
        String name, String version, ModelSettings settings, Supplier<byte[]> onnx, List<Path> jars) {}
