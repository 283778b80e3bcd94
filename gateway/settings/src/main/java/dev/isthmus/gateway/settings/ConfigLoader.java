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
import org.yaml.snakeyaml.reader.ReaderException;

/** Reads the configuration file. A file with any problem is refused as a whole, with all of them. */
public final class ConfigLoader {

    /** What the parser says of a second document. */
    private static final String ANOTHER_DOCUMENT = "but found another document";

    private ConfigLoader() {}

    /**
     * Reads a file.
     *
     * @throws ConfigException when it cannot be read or anything in it is wrong
     */
    public static GatewayConfig load(Path file) throws ConfigException {
        String text = ConfigText.of(file);
        Path parent = file.toAbsolutePath().getParent();
        return parse(file.toString(), text, parent == null ? file : parent);
    }

    /** Reads a text; paths in it are relative to the folder. */
    public static GatewayConfig parse(String name, String text, Path folder) throws ConfigException {
        Node root = compose(name, text);
        YamlReader yaml = new YamlReader(name);
        yaml.merge(root);
        SectionPositions places = new SectionPositions(root);
        GatewayConfig config = new SectionReader(yaml, places, folder).read(GatewayConfig.class, root, "");
        new ConfigChecks(yaml, places, config).run();
        if (!yaml.problems().isEmpty()) {
            throw new ConfigException(yaml.problems());
        }
        return config;
    }

    private static Node compose(String name, String text) throws ConfigException {
        Node root;
        try {
            root = new Yaml(new SafeConstructor(new LoaderOptions())).compose(new StringReader(text));
        } catch (MarkedYAMLException e) {
            Mark mark = e.getProblemMark();
            String place = mark == null ? "" : ":" + (mark.getLine() + 1) + ":" + (mark.getColumn() + 1);
            String what = ANOTHER_DOCUMENT.equals(e.getProblem())
                    ? "another YAML document begins here; a configuration is one document"
                    : "malformed YAML: " + e.getProblem();
            throw new ConfigException(List.of(name + place + ": " + what));
        } catch (ReaderException e) {
            int at = text.offsetByCodePoints(0, Math.min(e.getPosition(), text.codePointCount(0, text.length())));
            String what = String.format("the character U+%04X may not stand in YAML", e.getCodePoint());
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
