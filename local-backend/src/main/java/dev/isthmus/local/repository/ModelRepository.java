package dev.isthmus.local.repository;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The models of a folder and the embedded models. Supports Triton's layout {@code <model>/<version>/model.onnx}, with a
 * config.pbtxt or MLServer's model-settings.json beside the versions, or {@code <model>.onnx} alone. Each call reads
 * the folder again, on the caller's thread.
 */
public final class ModelRepository {
    private static final List<String> EMBEDDED = List.of("digits", "simple");

    private final @Nullable RepositoryRoot root;
    private final boolean embedded;

    private ModelRepository(@Nullable RepositoryRoot root, boolean embedded) {
        this.root = root;
        this.embedded = embedded;
    }

    /**
     * Opens a repository.
     *
     * @param directory the folder; null for the embedded models only
     * @param embedded whether the embedded models are available unless the folder has a model of the same name
     * @throws OipException if the folder cannot be read
     */
    public static ModelRepository of(@Nullable Path directory, boolean embedded) {
        return new ModelRepository(directory == null ? null : RepositoryRoot.of(directory), embedded);
    }

    /**
     * The names of the current models, whether or not they can be loaded.
     *
     * @throws OipException if the folder cannot be read
     */
    public SortedSet<String> names() {
        SortedSet<String> names = new TreeSet<>(folders().keySet());
        if (embedded) {
            names.addAll(EMBEDDED);
        }
        return names;
    }

    /**
     * Reads a model from its current files.
     *
     * @throws OipException NOT_FOUND, or FAILED_PRECONDITION with the reason why it cannot be loaded
     */
    public FoundModel find(String name) {
        List<ModelFolder> folders = folders().getOrDefault(name, List.of());
        if (folders.size() > 1) {
            throw new OipException(
                    ErrorCode.FAILED_PRECONDITION,
                    "one path is expected, got "
                            + folders.stream()
                                    .map(folder -> folder.root().name(folder.place()))
                                    .toList());
        }
        if (!folders.isEmpty()) {
            return folders.getFirst().read(name);
        }
        if (embedded && EMBEDDED.contains(name)) {
            return embedded(name);
        }
        throw new OipException(ErrorCode.NOT_FOUND, "unknown model '" + name + "': it is not in the model repository");
    }

    private SortedMap<String, List<ModelFolder>> folders() {
        SortedMap<String, List<ModelFolder>> folders = new TreeMap<>();
        if (root == null) {
            return folders;
        }
        for (Path place : root.list(root.path())) {
            ModelFolder folder = new ModelFolder(root, place);
            if (folder.isModel()) {
                folders.merge(folder.name(), List.of(folder), ModelRepository::both);
            }
        }
        return folders;
    }

    private static List<ModelFolder> both(List<ModelFolder> some, List<ModelFolder> others) {
        return Stream.concat(some.stream(), others.stream()).toList();
    }

    private static FoundModel embedded(String name) {
        ModelSource source = new ModelSource(
                name, "1", ModelSettings.DEFAULT, () -> resource("/models/" + name + "/1/model.onnx"), List.of());
        return new FoundModel(
                name, ModelSettings.DEFAULT, new TreeMap<>(Map.of(1L, source)), new TreeMap<>(), List.of());
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
}
