package dev.isthmus.local.repository;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The models of a folder and the embedded models. Supports Triton's layout {@code <model>/<version>/model.onnx}, with a
 * config.pbtxt or MLServer's model-settings.json beside the versions, or {@code <model>.onnx} alone. Each call reads
 * files again, on the caller's thread. Thread-safe.
 */
public final class ModelRepository {
    /** The highest number of a version. */
    public static final long MAX_VERSION = ModelFolder.MAX_VERSION;

    private static final List<String> EMBEDDED = List.of("digits", "simple");

    private final @Nullable RepositoryRoot root;
    private final boolean embedded;
    /** The folders whose configuration gives them another name, by that name; null before the first listing. */
    private volatile @Nullable Map<String, List<ModelFolder>> renamed;

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
        List<ModelFolder> folders = folders(name);
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

    /**
     * The folders of a model. Only these are looked at: those that its name leads to, and those that gave it as their
     * name when the repository was listed. It is listed again if there are none.
     */
    private List<ModelFolder> folders(String name) {
        if (root == null) {
            return List.of();
        }
        Map<String, List<ModelFolder>> known = renamed;
        if (known == null) {
            return folders().getOrDefault(name, List.of());
        }
        Set<ModelFolder> places = new LinkedHashSet<>(known.getOrDefault(name, List.of()));
        if (isFileName(name)) {
            places.add(new ModelFolder(root, root.path().resolve(name)));
            places.add(new ModelFolder(root, root.path().resolve(name + ModelFolder.ONNX)));
        }
        List<ModelFolder> found = places.stream()
                .filter(folder -> Files.exists(folder.place(), LinkOption.NOFOLLOW_LINKS))
                .filter(folder -> name.equals(folder.modelName()))
                .sorted(Comparator.comparing(ModelFolder::place))
                .toList();
        return found.isEmpty() ? folders().getOrDefault(name, List.of()) : found;
    }

    /** Whether a name is that of an entry of the repository, which must not be hidden. */
    private static boolean isFileName(String name) {
        try {
            Path file = Path.of(name).getFileName();
            return file != null && file.toString().equals(name) && name.matches("(?s)[^.\\\\][^\\\\]*");
        } catch (InvalidPathException e) {
            // It has a NUL, or a character that the encoding of the locale has not.
            return false;
        }
    }

    private SortedMap<String, List<ModelFolder>> folders() {
        SortedMap<String, List<ModelFolder>> folders = new TreeMap<>();
        Map<String, List<ModelFolder>> others = new HashMap<>();
        if (root == null) {
            return folders;
        }
        for (Path place : root.list(root.path())) {
            ModelFolder folder = new ModelFolder(root, place);
            String name = folder.modelName();
            if (name != null) {
                folders.computeIfAbsent(name, _ -> new ArrayList<>()).add(folder);
                if (!name.equals(place.getFileName().toString())) {
                    others.computeIfAbsent(name, _ -> new ArrayList<>()).add(folder);
                }
            }
        }
        renamed = others;
        return folders;
    }

    private static FoundModel embedded(String name) {
        ModelSource source = new ModelSource(
                name, "1", ModelSettings.DEFAULT, () -> resource("/models/" + name + "/1/model.onnx"), List.of());
        return new FoundModel(new TreeMap<>(Map.of(1L, source)), new TreeMap<>(), List.of());
    }

    private static byte[] resource(String path) {
        try (InputStream in = Objects.requireNonNull(ModelRepository.class.getResourceAsStream(path))) {
            return in.readAllBytes();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
