package dev.isthmus.gateway.settings;

import java.io.StringReader;
import java.nio.file.Path;
import java.util.List;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;
import org.yaml.snakeyaml.error.Mark;
import org.yaml.snakeyaml.error.MarkedYAMLException;
import org.yaml.snakeyaml.error.YAMLException;
import org.yaml.snakeyaml.nodes.Node;
import org.yaml.snakeyaml.nodes.ScalarNode;
import org.yaml.snakeyaml.reader.ReaderException;

/** Reads the configuration file. A file with any problem is rejected as a whole, and all problems are reported. */
public final class ConfigLoader {

    /** SnakeYAML's message for a second document. */
    private static final String ANOTHER_DOCUMENT = "but found another document";

    private ConfigLoader() {}

    /**
     * Reads a file.
     *
     * @throws ConfigException if it cannot be read or is invalid
     */
    public static GatewayConfig load(Path file) throws ConfigException {
        return parse(file.toString(), ConfigText.of(file), folder(file));
    }

    /** The folder that the paths in a file are relative to. */
    public static Path folder(Path file) {
        Path parent = file.toAbsolutePath().getParent();
        return parent == null ? file : parent;
    }

    /**
     * The text of a file.
     *
     * @throws ConfigException if it cannot be read
     */
    public static String text(Path file) throws ConfigException {
        return ConfigText.of(file);
    }

    /** Parses a text; paths in it are relative to {@code folder}. */
    public static GatewayConfig parse(String name, String text, Path folder) throws ConfigException {
        Node root = compose(name, text);
        YamlReader yaml = new YamlReader(name);
        yaml.merge(root);
        SectionPositions positions = new SectionPositions(root);
        SectionReader reader = new SectionReader(yaml, positions, folder, layers(yaml, positions, folder));
        GatewayConfig config = reader.read(GatewayConfig.class, root, "");
        new ConfigChecks(yaml, positions, config).run();
        if (!yaml.problems().isEmpty()) {
            throw new ConfigException(yaml.problems());
        }
        return config;
    }

    /** The layers of the folder that the document names. */
    private static LayerJars layers(YamlReader yaml, SectionPositions positions, Path folder) {
        if (!(positions.at("layers", "folder") instanceof ScalarNode named)
                || named.getValue().isBlank()) {
            return LayerJars.NONE;
        }
        LayerJars layers = LayerJars.in(folder.resolve(named.getValue()));
        layers.problems().forEach(each -> yaml.problem(named, "layers: folder: " + each));
        return layers;
    }

    static Node compose(String name, String text) throws ConfigException {
        Node root;
        try {
            root = new Yaml(new SafeConstructor(new LoaderOptions())).compose(new StringReader(text));
        } catch (MarkedYAMLException e) {
            Mark mark = e.getProblemMark();
            String place = mark == null ? "" : ":" + (mark.getLine() + 1) + ":" + (mark.getColumn() + 1);
            String what = ANOTHER_DOCUMENT.equals(e.getProblem())
                    ? "another YAML document begins here; a single document is expected"
                    : "malformed YAML: " + e.getProblem();
            throw new ConfigException(List.of(name + place + ": " + what));
        } catch (ReaderException e) {
            int at = text.offsetByCodePoints(0, Math.min(e.getPosition(), text.codePointCount(0, text.length())));
            String what = String.format("the character U+%04X is not allowed in YAML", e.getCodePoint());
            throw new ConfigException(List.of(name + ":" + ConfigText.place(text, at) + ": " + what));
        } catch (YAMLException e) {
            throw new ConfigException(List.of(name + ": malformed YAML: " + e.getMessage()));
        }
        if (root == null) {
            throw new ConfigException(List.of(name + ":1:1: the file is empty"));
        }
        return root;
    }
}
