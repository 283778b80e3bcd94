package dev.isthmus.gateway.settings;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.jar.Attributes;
import java.util.jar.JarFile;
import java.util.jar.Manifest;
import java.util.stream.Stream;

/**
 * The layers that the jars of a folder bring. The manifest of each jar says for which version of the interface it was made,
 * and which layers it has: the name and the class of the settings of each. A jar has a class loader of its own.
 *
 * @param settings of each layer, by its name
 * @param problems what is wrong with the folder and its jars
 */
record LayerJars(Map<String, Class<? extends Record>> settings, List<String> problems) {
    static final LayerJars NONE = new LayerJars(Map.of(), List.of());

    private static final String VERSION = "Isthmus-Layer-Interface";
    private static final String LAYERS = "Isthmus-Layers";
    /** Classes of a jar as long as it is the same file, so that its settings can be compared with those before. */
    private static final Map<Path, LoadedJar> LOADED = new ConcurrentHashMap<>();

    /** The content of a jar, loaded once. */
    private record LoadedJar(Object stamp, Map<String, Class<? extends Record>> settings) {}

    /** Reads all jars of a folder. Blocks. */
    static LayerJars in(Path folder) {
        Map<String, Class<? extends Record>> settings = new TreeMap<>();
        Map<String, Path> sources = new TreeMap<>();
        List<String> problems = new ArrayList<>();
        for (Path jar : jars(folder, problems)) {
            try {
                loaded(jar).forEach((name, type) -> {
                    Path other = sources.putIfAbsent(name, jar);
                    if (other == null) {
                        settings.put(name, type);
                    } else {
                        problems.add("layer '" + name + "' is in " + other.getFileName() + " and in "
                                + jar.getFileName() + ": one is expected");
                    }
                });
            } catch (ConfigException e) {
                problems.add(jar.getFileName() + ": " + e.getMessage());
            }
        }
        return new LayerJars(settings, problems);
    }

    private static List<Path> jars(Path folder, List<String> problems) {
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(each -> each.toString().endsWith(".jar"))
                    .sorted()
                    .toList();
        } catch (IOException | UncheckedIOException e) {
            problems.add("a readable folder is expected, got " + folder);
            return List.of();
        }
    }

    private static Map<String, Class<? extends Record>> loaded(Path jar) throws ConfigException {
        try {
            BasicFileAttributes file = Files.readAttributes(jar, BasicFileAttributes.class);
            Object stamp =
                    List.of(file.lastModifiedTime(), file.size(), Objects.requireNonNullElse(file.fileKey(), ""));
            LoadedJar before = LOADED.get(jar);
            if (before != null && before.stamp().equals(stamp)) {
                return before.settings();
            }
            Map<String, Class<? extends Record>> found = load(jar);
            LOADED.put(jar, new LoadedJar(stamp, found));
            return found;
        } catch (IOException e) {
            throw new ConfigException(List.of("a readable jar is expected: " + e.getMessage()));
        }
    }

    private static Map<String, Class<? extends Record>> load(Path jar) throws IOException, ConfigException {
        Map<String, String> classes = classes(jar);
        // Not closed: its classes are used until they are unreachable, and so is it.
        ClassLoader loader = new URLClassLoader(new URL[] {jar.toUri().toURL()}, LayerSettings.class.getClassLoader());
        Map<String, Class<? extends Record>> found = new TreeMap<>();
        for (Map.Entry<String, String> each : classes.entrySet()) {
            found.put(each.getKey(), settings(loader, each.getValue()));
        }
        return found;
    }

    /** The classes of settings by the name of the layer, from the manifest. */
    private static Map<String, String> classes(Path jar) throws IOException, ConfigException {
        Attributes attributes;
        try (JarFile file = new JarFile(jar.toFile())) {
            Manifest manifest = file.getManifest();
            attributes = manifest == null ? new Attributes() : manifest.getMainAttributes();
        }
        String version = attributes.getValue(VERSION);
        if (version == null || !version.equals(Integer.toString(LayerSettings.INTERFACE_VERSION))) {
            throw new ConfigException(List.of("a manifest with '" + VERSION + ": " + LayerSettings.INTERFACE_VERSION
                    + "', the version of this gateway, is expected, got "
                    + (version == null ? "none" : "'" + version + "'")));
        }
        Map<String, String> classes = new TreeMap<>();
        for (String each :
                Objects.requireNonNullElse(attributes.getValue(LAYERS), "").split(" +", -1)) {
            if (!each.matches("[a-z][a-z0-9_]*=[\\w.$]+")) {
                throw new ConfigException(List.of("a manifest with '" + LAYERS
                        + ": NAME=CLASS', names in lower case, is expected, got '" + each + "'"));
            }
            String name = each.substring(0, each.indexOf('='));
            if (builtIn(name)) {
                throw new ConfigException(
                        List.of("a name that no layer of the gateway has is expected, got '" + name + "'"));
            }
            if (classes.put(name, each.substring(name.length() + 1)) != null) {
                throw new ConfigException(
                        List.of("layer '" + name + "' is in '" + LAYERS + "' twice: one is expected"));
            }
        }
        return classes;
    }

    private static boolean builtIn(String name) {
        return Stream.of(BuiltInLayer.values()).anyMatch(each -> each.toString().equals(name));
    }

    private static Class<? extends Record> settings(ClassLoader loader, String name) throws ConfigException {
        try {
            Class<?> type = Class.forName(name, true, loader);
            if (!type.isRecord() || !LayerSettings.class.isAssignableFrom(type)) {
                throw new ConfigException(List.of("a record that implements LayerFactory is expected, got " + name));
            }
            // Derives its keys, which may be of types that are not supported.
            ConfigKey.of(type.asSubclass(Record.class));
            return type.asSubclass(Record.class);
        } catch (ClassNotFoundException | LinkageError | RuntimeException e) {
            throw new ConfigException(List.of(name + " cannot be loaded: " + e));
        }
    }
}
