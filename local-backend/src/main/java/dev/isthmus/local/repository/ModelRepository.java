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
 * The models of a folder, and those that come with the gateway: Triton's layout {@code <model>/<version>/model.onnx}, a
 * config.pbtxt or MLServer's model-settings.json beside the versions, or {@code <model>.onnx} alone. The folder is read anew
 * each time; it is always read on the caller's thread.
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
     * A repository.
     *
     * @param directory null: there are the embedded models only
     * @param embedded whether the models that come with the gateway are there, as far as the folder has none of their name
     * @throws OipException when the folder cannot be read
     */
    public static ModelRepository of(@Nullable Path directory, boolean embedded) {
        return new ModelRepository(directory == null ? null : RepositoryRoot.of(directory), embedded);
    }

    /**
     * The names of the models that there are now, whether they can be loaded or not.
     *
     * @throws OipException when the folder cannot be read
     */
    public SortedSet<String> names() {
        SortedSet<String> names = new TreeSet<>(folders().keySet());
        if (embedded) {
            names.addAll(EMBEDDED);
        }
        return names;
    }

    /**
     * A model as its files are now.
     *
     * @throws OipException NOT_FOUND, or FAILED_PRECONDITION with the reason why it cannot be loaded
     */
    public FoundModel find(String name) {
        List<ModelFolder> folders = folders().getOrDefault(name, List.of());
        if (folders.size() > 1) {
            throw new OipException(
                    ErrorCode.FAILED_PRECONDITION,
                    "one place is expected, got "
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
