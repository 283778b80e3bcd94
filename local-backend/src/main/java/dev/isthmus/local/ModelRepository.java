package dev.isthmus.local;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.Stream;

/** Finds models in Triton's layout: {@code <repository>/<model>/<version>/model.onnx}, the version a number. */
final class ModelRepository {
    private static final List<String> EMBEDDED = List.of("digits", "simple");

    /** One version of a model, not yet loaded. */
    record Entry(String name, String version, Supplier<byte[]> onnx) {}

    private ModelRepository() {}

    /** The models that come with the gateway. */
    static List<Entry> embedded() {
        return EMBEDDED.stream()
                .map(name -> new Entry(name, "1", () -> resource("/models/" + name + "/1/model.onnx")))
                .toList();
    }

    private static byte[] resource(String path) {
        try (InputStream in = ModelRepository.class.getResourceAsStream(path)) {
            if (in == null) {
                throw new IllegalStateException("resource " + path + " is missing");
            }
            return in.readAllBytes();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * The models in a directory.
     *
     * @throws OipException when the directory cannot be read
     */
    static List<Entry> scan(Path directory) {
        List<Entry> entries = new ArrayList<>();
        try {
            Path root = directory.toRealPath();
            for (Path model : list(root)) {
                for (Path version : list(model)) {
                    Path file = version.resolve("model.onnx");
                    boolean numbered = version.getFileName().toString().matches("[0-9]{1,18}");
                    // A link that leads out of the repository is not followed.
                    if (numbered
                            && Files.isRegularFile(file)
                            && file.toRealPath().startsWith(root)) {
                        entries.add(new Entry(
                                model.getFileName().toString(),
                                version.getFileName().toString(),
                                () -> read(file)));
                    }
                }
            }
            return entries;
        } catch (IOException e) {
            throw new OipException(
                    ErrorCode.FAILED_PRECONDITION, "model repository " + directory + " cannot be read", e);
        }
    }

    private static byte[] read(Path file) {
        try {
            return Files.readAllBytes(file);
        } catch (IOException e) {
            throw new OipException(ErrorCode.FAILED_PRECONDITION, "model file " + file + " cannot be read", e);
        }
    }

    private static List<Path> list(Path directory) throws IOException {
        try (Stream<Path> children = Files.list(directory)) {
            return children.filter(Files::isDirectory).sorted().toList();
        }
    }
}
