package dev.isthmus.local.repository;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One model's path in the repository: a folder or a single file. */
record ModelFolder(RepositoryRoot root, Path place) {
    static final long MAX_VERSION = 999_999_999_999_999_999L;
    static final String ONNX = ".onnx";

    private static final Logger LOG = LoggerFactory.getLogger(ModelFolder.class);
    private static final String FILE = "model" + ONNX;

    static boolean isVersion(String text) {
        return text.matches("[1-9][0-9]{0,17}");
    }

    /**
     * The name of the model at this path: that of its configuration, or the path's if that cannot be read; null if name
     * and files do not indicate a model. A link out of the repository may be one.
     */
    @Nullable
    String modelName() {
        String name = place.getFileName().toString();
        if (!Files.isDirectory(place)) {
            return name.endsWith(ONNX) ? name.substring(0, name.length() - ONNX.length()) : null;
        }
        try {
            List<Path> children = root.list(root.inside(place));
            Set<String> files = children.stream()
                    .map(child -> child.getFileName().toString())
                    .collect(Collectors.toUnmodifiableSet());
            if (files.contains(MlServerSettings.NAME)) {
                return declaredName(name);
            }
            boolean model = files.contains(ConfigPbtxt.NAME)
                    || files.contains(FILE)
                    || files.stream().anyMatch(ModelFolder::isVersion)
                    || !misnamed(children, FILE).isEmpty();
            return model ? name : null;
        } catch (OipException unreadable) {
            // It is listed as unreadable, or as a link out of the repository, which is not followed.
            return name;
        }
    }

    private String declaredName(String pathName) {
        try {
            String declared = MlServerSettings.read(root.text(place.resolve(MlServerSettings.NAME)))
                    .name();
            return Objects.requireNonNullElse(declared, pathName);
        } catch (OipException unreadable) {
            return pathName;
        }
    }

    private boolean exists(String name) {
        return Files.exists(place.resolve(name));
    }

    /** The names of folders that have a model, but are not versions. */
    private static List<String> misnamed(List<Path> children, String file) {
        return children.stream()
                .filter(child -> !isVersion(child.getFileName().toString()))
                .filter(child -> Files.isRegularFile(child.resolve(file)))
                .map(child -> child.getFileName().toString())
                .toList();
    }

    /**
     * The model with the versions that its policy selects.
     *
     * @throws OipException FAILED_PRECONDITION with the reason if it has no version to load
     */
    FoundModel read(String name) {
        root.inside(place);
        if (!Files.isDirectory(place)) {
            return found(name, ModelFile.NONE, new TreeMap<>(Map.of(1L, place)));
        }
        ModelFile file = configuration();
        if (!file.ignored().isEmpty()) {
            LOG.warn("model '{}': these fields of its configuration have no effect: {}", name, file.ignored());
        }
        if (file.name() != null && exists(ConfigPbtxt.NAME) && !file.name().equals(name)) {
            throw refused(ConfigPbtxt.NAME + ": name '" + file.name() + "': the folder's, '" + name + "', is expected");
        }
        boolean single =
                exists(MlServerSettings.NAME) && (file.file() != null || file.version() != null || exists(FILE));
        return found(name, file, single ? single(file) : versions(file));
    }

    private ModelFile configuration() {
        boolean triton = exists(ConfigPbtxt.NAME);
        boolean mlserver = exists(MlServerSettings.NAME);
        if (triton && mlserver) {
            throw refused("either " + ConfigPbtxt.NAME + " or " + MlServerSettings.NAME + " is expected, not both");
        }
        if (triton) {
            return ConfigPbtxt.read(root.text(place.resolve(ConfigPbtxt.NAME)));
        }
        return mlserver ? MlServerSettings.read(root.text(place.resolve(MlServerSettings.NAME))) : ModelFile.NONE;
    }

    /** A version's number; for the only version of MLServer's layout, which may have any name, one that no version has. */
    private static long number(String version) {
        return isVersion(version) ? Long.parseLong(version) : MAX_VERSION + 1;
    }

    /** MLServer's layout: one version, at the path in its settings. */
    private NavigableMap<Long, Path> single(ModelFile file) {
        String uri = Objects.requireNonNullElse(file.file(), ".");
        boolean escapes = uri.matches("(?s)/.*|[A-Za-z][A-Za-z0-9+.-]*:.*|.*\\x00.*")
                || List.of(uri.split("/")).contains("..");
        if (escapes) {
            throw refused(MlServerSettings.NAME + ": parameters.uri '" + uri
                    + "': a path in the model's folder is expected, without '..'");
        }
        Path target = place.resolve(uri).normalize();
        Path onnx = Files.isDirectory(target) ? target.resolve(FILE) : target;
        return new TreeMap<>(Map.of(number(Objects.requireNonNullElse(file.version(), "1")), onnx));
    }

    /** Triton's layout. */
    private NavigableMap<Long, Path> versions(ModelFile file) {
        NavigableMap<Long, Path> versions = new TreeMap<>();
        List<Path> children = root.list(place);
        String onnx = Objects.requireNonNullElse(file.file(), FILE);
        List<String> misnamed = misnamed(children, onnx);
        if (!misnamed.isEmpty()) {
            LOG.warn("model folder '{}': {}", root.name(place), ignored(misnamed));
        }
        for (Path child : children) {
            String name = child.getFileName().toString();
            if (isVersion(name) && Files.isDirectory(child)) {
                versions.put(Long.valueOf(name), child.resolve(onnx));
            }
        }
        return versions;
    }

    private FoundModel found(String name, ModelFile file, NavigableMap<Long, Path> versions) {
        Map<String, List<String>> labels = new HashMap<>();
        file.labels().forEach((output, labelFile) -> labels.put(output, labels(labelFile)));
        ModelSettings settings = file.settings().withLabels(labels);
        NavigableMap<Long, ModelSource> sources = new TreeMap<>();
        NavigableMap<Long, String> refused = new TreeMap<>();
        for (long version : settings.versions().select(new TreeSet<>(versions.keySet()))) {
            Path expected =
                    place.resolve(Long.toString(version)).resolve(Objects.requireNonNullElse(file.file(), FILE));
            Path onnx = versions.getOrDefault(version, expected);
            if (!Files.exists(onnx)) {
                refused.put(version, "the version does not exist: '" + root.name(onnx) + "' is expected");
                continue;
            }
            try {
                root.inside(onnx);
                String shown = version > MAX_VERSION ? String.valueOf(file.version()) : Long.toString(version);
                sources.put(version, source(name, shown, settings, onnx));
            } catch (OipException problem) {
                refused.put(version, problem.message());
            }
        }
        if (sources.isEmpty() && refused.isEmpty()) {
            List<String> misnamed = misnamed(root.list(place), Objects.requireNonNullElse(file.file(), FILE));
            throw refused("it has no version: '" + root.name(place) + "/1/" + FILE + "' is expected"
                    + (misnamed.isEmpty() ? "" : "; " + ignored(misnamed)));
        }
        return new FoundModel(sources, refused, file.warmUps());
    }

    private static String ignored(List<String> misnamed) {
        return "folders " + misnamed + " are ignored, for versions are numbers from 1 on without leading zeros";
    }

    /** The lines of a file in the model's folder. */
    private List<String> labels(String file) {
        return root.text(place.resolve(file)).lines().toList();
    }

    private ModelSource source(String name, String version, ModelSettings settings, Path onnx) {
        List<Path> jars = Files.isDirectory(place) ? jars(onnx) : List.of();
        return new ModelSource(name, version, settings, new OwnFile(root, onnx), jars);
    }

    /** The file of a version, in its folder. */
    private record OwnFile(RepositoryRoot root, Path path) implements ModelSource.OnnxFile {
        @Override
        public byte[] read() {
            return root.bytes(path);
        }

        @Override
        public Path folder() {
            return root.inside(Objects.requireNonNull(path.getParent()));
        }
    }

    /** The jars beside the version's file and in the model's folder. */
    private List<Path> jars(Path onnx) {
        TreeSet<Path> folders = new TreeSet<>(List.of(place, onnx.getParent()));
        return folders.stream()
                .flatMap(folder -> root.list(folder).stream())
                .filter(file -> file.getFileName().toString().endsWith(".jar"))
                .map(root::inside)
                .filter(Files::isRegularFile)
                .distinct()
                .toList();
    }

    private static OipException refused(String problem) {
        return new OipException(ErrorCode.FAILED_PRECONDITION, problem);
    }
}
