package dev.isthmus.gateway.settings;

import java.io.IOException;
import java.io.StringReader;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.composer.Composer;
import org.yaml.snakeyaml.error.Mark;
import org.yaml.snakeyaml.error.MarkedYAMLException;
import org.yaml.snakeyaml.error.YAMLException;
import org.yaml.snakeyaml.nodes.MappingNode;
import org.yaml.snakeyaml.nodes.Node;
import org.yaml.snakeyaml.nodes.NodeTuple;
import org.yaml.snakeyaml.nodes.ScalarNode;
import org.yaml.snakeyaml.parser.ParserImpl;
import org.yaml.snakeyaml.reader.ReaderException;
import org.yaml.snakeyaml.reader.StreamReader;
import org.yaml.snakeyaml.resolver.Resolver;

/** Reads the configuration files. With any problem all are rejected as a whole, and all problems are reported. */
public final class ConfigLoader {

    /** SnakeYAML's message for a second document. */
    private static final String ANOTHER_DOCUMENT = "but found another document";

    private ConfigLoader() {}

    /**
     * A configuration that was read.
     *
     * @param keys that its files have
     */
    public record LoadedConfig(GatewayConfig config, ConfigKeys keys) {}

    /** Says at each node which file it is of, without the text. */
    private static final class NamedReader extends StreamReader {
        private final String name;

        NamedReader(String name, String text) {
            super(new StringReader(text));
            this.name = name;
        }

        @Override
        public Mark getMark() {
            return new Mark(name, getIndex(), getLine(), getColumn(), new int[0], 0);
        }
    }

    /**
     * Reads files and the files of folders, as one configuration. Blocks.
     *
     * @throws ConfigException if one cannot be read, or the whole is invalid
     */
    public static GatewayConfig load(Path... paths) throws ConfigException {
        return load(List.of(paths), new HashSet<>()).config();
    }

    /**
     * As {@link #load(Path...)}, with the keys.
     *
     * @param read gets the files whose content is in it, also if it is invalid
     */
    public static LoadedConfig load(List<Path> paths, Collection<Path> read) throws ConfigException {
        List<ConfigText> texts = texts(paths, read);
        YamlReader yaml = new YamlReader(texts);
        Node root = document(texts, yaml);
        GatewayConfig config = parse(root, yaml, System::getenv, read);
        return new LoadedConfig(config, ConfigKeys.of(root));
    }

    private static List<ConfigText> texts(List<Path> paths, Collection<Path> read) throws ConfigException {
        List<ConfigText> texts = new ArrayList<>();
        List<ConfigProblem> problems = new ArrayList<>();
        for (Path path : paths) {
            try {
                for (Path file : files(path)) {
                    read.add(file);
                    texts.add(ConfigText.of(file));
                }
            } catch (ConfigException e) {
                problems.addAll(e.located());
            }
        }
        if (!problems.isEmpty()) {
            throw ConfigException.of(problems);
        }
        return texts;
    }

    /** The folder that the paths in a file are relative to. */
    public static Path folder(Path file) {
        Path parent = file.toAbsolutePath().getParent();
        return parent == null ? file : parent;
    }

    /** The files of these paths: a file itself, and those of a folder, of which there may be none now. Blocks. */
    public static List<Path> files(List<Path> paths) {
        return paths.stream().flatMap(ConfigLoader::filesNow).toList();
    }

    private static Stream<Path> filesNow(Path path) {
        try {
            return files(path).stream();
        } catch (ConfigException e) {
            // Reported when they are loaded.
            return Stream.empty();
        }
    }

    /**
     * The file itself; of a folder, the files in it whose names end in {@code .yaml}, sorted by name.
     *
     * @throws ConfigException if a folder has none or cannot be read
     */
    private static List<Path> files(Path path) throws ConfigException {
        if (!Files.isDirectory(path)) {
            return List.of(path);
        }
        List<Path> files;
        try (Stream<Path> all = Files.list(path)) {
            files = all.filter(each -> each.toString().endsWith(".yaml") && !Files.isDirectory(each))
                    .sorted()
                    .toList();
        } catch (IOException | UncheckedIOException e) {
            throw new ConfigException(new ConfigProblem(path.toString(), 0, 0, "the folder cannot be read"));
        }
        if (files.isEmpty()) {
            throw new ConfigException(
                    new ConfigProblem(path.toString(), 0, 0, "a file *.yaml is expected in the folder, got none"));
        }
        return files;
    }

    /** Parses a text; paths in it are relative to {@code folder}. */
    public static GatewayConfig parse(String name, String text, Path folder) throws ConfigException {
        return parse(List.of(new ConfigText(name, text, folder)), System::getenv, new HashSet<>());
    }

    /**
     * Parses texts as one configuration.
     *
     * @param environment the variables that values may refer to
     * @param read gets the files that values refer to
     */
    static GatewayConfig parse(
            List<ConfigText> texts, Function<String, @Nullable String> environment, Collection<Path> read)
            throws ConfigException {
        YamlReader yaml = new YamlReader(texts);
        return parse(document(texts, yaml), yaml, environment, read);
    }

    private static GatewayConfig parse(
            Node root, YamlReader yaml, Function<String, @Nullable String> environment, Collection<Path> read)
            throws ConfigException {
        new ReferenceResolver(yaml, environment, read).resolve(root);
        SectionPositions positions = new SectionPositions(root);
        SectionReader reader = new SectionReader(yaml, positions, layers(yaml, positions));
        GatewayConfig config = reader.read(GatewayConfig.class, root, "");
        new ConfigChecks(yaml, positions, config).run();
        if (!yaml.problems().isEmpty()) {
            throw ConfigException.of(yaml.problems());
        }
        return yaml.hasReferences()
                ? DefaultValues.with(
                        config, "references", ValueReferences.of(reader.references(), config.values(), yaml.hidden()))
                : config;
    }

    /** The layers of the folder that the document names. */
    private static LayerJars layers(YamlReader yaml, SectionPositions positions) {
        if (!(positions.at("layers", "folder") instanceof ScalarNode named)
                || ValueShapes.path(named.getValue()) == null) {
            return LayerJars.NONE;
        }
        LayerJars layers = LayerJars.in(yaml.folder(named).resolve(named.getValue()));
        layers.problems().forEach(each -> yaml.problem(named, "layers: folder: " + each));
        return layers;
    }

    /** One document of all texts, as they are written. */
    private static Node document(List<ConfigText> texts, YamlReader yaml) throws ConfigException {
        List<Node> documents = new ArrayList<>();
        List<ConfigProblem> problems = new ArrayList<>();
        for (ConfigText each : texts) {
            try {
                documents.add(compose(each.name(), each.text()));
            } catch (ConfigException e) {
                problems.addAll(e.located());
            }
        }
        if (!problems.isEmpty()) {
            throw ConfigException.of(problems);
        }
        documents.forEach(yaml::merge);
        return ConfigMerge.of(documents, yaml);
    }

    private static Node compose(String name, String text) throws ConfigException {
        LoaderOptions options = new LoaderOptions();
        Node root;
        try {
            root = new Composer(new ParserImpl(new NamedReader(name, text), options), new Resolver(), options)
                    .getSingleNode();
        } catch (MarkedYAMLException e) {
            Mark mark = e.getProblemMark();
            String what = ANOTHER_DOCUMENT.equals(e.getProblem())
                    ? "another YAML document begins here; a single document is expected"
                    : "malformed YAML: " + e.getProblem() + unquoted(mark, text);
            throw new ConfigException(
                    mark == null
                            ? new ConfigProblem(name, 0, 0, what)
                            : new ConfigProblem(name, mark.getLine() + 1, mark.getColumn() + 1, what));
        } catch (ReaderException e) {
            int at = text.offsetByCodePoints(0, Math.min(e.getPosition(), text.codePointCount(0, text.length())));
            String what = String.format("the character U+%04X is not allowed in YAML", e.getCodePoint());
            throw new ConfigException(ConfigText.problem(name, text, at, what));
        } catch (YAMLException | NumberFormatException e) {
            throw new ConfigException(new ConfigProblem(name, 0, 0, "malformed YAML: " + e.getMessage()));
        }
        if (root == null) {
            throw new ConfigException(new ConfigProblem(name, 1, 1, "the file is empty"));
        }
        return root;
    }

    /** What may be meant, if a plain value begins with a reference where braces are objects. */
    private static String unquoted(@Nullable Mark mark, String text) {
        List<String> lines = text.lines().toList();
        return mark != null
                        && mark.getLine() < lines.size()
                        && lines.get(mark.getLine()).contains("${")
                ? "; between brackets or braces a value with ${...} needs quotes"
                : "";
    }

    /**
     * Merges the documents of several files. Objects are merged key by key. All else is set in one file: a list, too, since
     * the order of its items may matter, and would depend on the names of files.
     */
    record ConfigMerge(YamlReader yaml) {
        /** No section of a configuration is deeper. Ends the merge of objects that contain themselves. */
        private static final int MAX_DEPTH = 50;

        /** The documents as one; a key that two of them set is a problem. */
        static Node of(List<Node> documents, YamlReader yaml) {
            ConfigMerge merge = new ConfigMerge(yaml);
            return documents.stream()
                    .reduce((one, other) -> merge.merged(one, other, "", 0))
                    .orElseThrow();
        }

        private Node merged(Node one, Node other, String what, int depth) {
            if (one instanceof MappingNode first && other instanceof MappingNode second && depth < MAX_DEPTH) {
                return objects(first, second, what, depth);
            }
            if (YamlReader.isNull(one) && other instanceof MappingNode) {
                return other;
            }
            if (!YamlReader.isNull(other) || !(one instanceof MappingNode)) {
                yaml.problem(
                        other,
                        (what.isEmpty()
                                        ? "an object is expected in each of several files; one"
                                        : "'" + what + "' is set in one file only; it")
                                + " is set at " + place(one) + " already");
            }
            return one;
        }

        private Node objects(MappingNode one, MappingNode other, String what, int depth) {
            List<NodeTuple> tuples = new ArrayList<>(one.getValue());
            for (NodeTuple tuple : other.getValue()) {
                int at = YamlReader.indexOf(tuple, one.getValue());
                if (at < 0) {
                    tuples.add(tuple);
                } else {
                    NodeTuple own = tuples.get(at);
                    String key = YamlReader.key(own);
                    Node value = merged(
                            own.getValueNode(),
                            tuple.getValueNode(),
                            what.isEmpty() ? key : what + ": " + key,
                            depth + 1);
                    tuples.set(at, new NodeTuple(own.getKeyNode(), value));
                }
            }
            // A new one: an anchor may have given this object to several places.
            return SectionReader.object(tuples, one);
        }

        private static String place(Node node) {
            Mark mark = node.getStartMark();
            return mark.getName() + ":" + (mark.getLine() + 1) + ":" + (mark.getColumn() + 1);
        }
    }
}
