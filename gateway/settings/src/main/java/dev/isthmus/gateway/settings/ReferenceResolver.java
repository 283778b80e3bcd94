package dev.isthmus.gateway.settings;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.yaml.snakeyaml.nodes.MappingNode;
import org.yaml.snakeyaml.nodes.Node;
import org.yaml.snakeyaml.nodes.NodeTuple;
import org.yaml.snakeyaml.nodes.ScalarNode;
import org.yaml.snakeyaml.nodes.SequenceNode;
import org.yaml.snakeyaml.nodes.Tag;

/**
 * Replaces references in values: <code>${NAME}</code> and <code>${NAME:-DEFAULT}</code> by a variable of the
 * environment, <code>${file:PATH}</code> by the content of a file, and <code>$${</code> by a plain <code>${</code>. The
 * YAML has been parsed before, so a reference cannot add keys, lists or objects.
 */
final class ReferenceResolver {
    /** Of a file, in bytes. */
    static final int MAX_FILE = 64 << 10;
    /** Of all that is put in, in characters. */
    static final int MAX_TOTAL = ConfigText.MAX_BYTES;

    private static final Pattern REFERENCE = Pattern.compile("\\$(\\$?)\\{(?:([^}]*)})?");
    private static final Pattern VARIABLE =
            Pattern.compile("([A-Za-z_][A-Za-z0-9_]*)(?::-((?:(?!\\$\\{).)*))?", Pattern.DOTALL);
    private static final String FILE = "file:";

    private final YamlReader yaml;
    private final Function<String, @Nullable String> environment;
    private final Collection<Path> files;
    private final Map<Path, String> contents = new HashMap<>();
    private final IdentityHashMap<Node, ScalarNode> replaced = new IdentityHashMap<>();
    private int total;

    /**
     * @param yaml gets the problems, and what came from where
     * @param files gets the files that are read, also if they cannot be
     */
    ReferenceResolver(YamlReader yaml, Function<String, @Nullable String> environment, Collection<Path> files) {
        this.yaml = yaml;
        this.environment = environment;
        this.files = files;
    }

    /** Replaces the references below a node; those without a value are problems. Blocks. */
    void resolve(Node root) {
        resolve(root, Collections.newSetFromMap(new IdentityHashMap<>()));
    }

    private void resolve(Node node, Set<Node> seen) {
        if (!seen.add(node)) {
            return;
        }
        if (node instanceof SequenceNode sequence) {
            sequence.getValue().replaceAll(this::value);
            List.copyOf(sequence.getValue()).forEach(each -> resolve(each, seen));
        } else if (node instanceof MappingNode mapping) {
            mapping.getValue().forEach(tuple -> key(tuple.getKeyNode()));
            mapping.getValue().replaceAll(tuple -> new NodeTuple(tuple.getKeyNode(), value(tuple.getValueNode())));
            List.copyOf(mapping.getValue()).forEach(tuple -> resolve(tuple.getValueNode(), seen));
        }
    }

    private void key(Node node) {
        if (!(node instanceof ScalarNode key) || !key.getValue().contains("${")) {
            return;
        }
        Matcher reference = REFERENCE.matcher(key.getValue());
        while (reference.find()) {
            if (reference.group(1).isEmpty()) {
                yaml.problem(node, "a key without a reference is expected, got '" + reference.group() + "'");
            }
        }
    }

    private Node value(Node node) {
        return node instanceof ScalarNode scalar && scalar.getValue().contains("${")
                ? replaced.computeIfAbsent(scalar, each -> resolved(scalar))
                : node;
    }

    private ScalarNode resolved(ScalarNode node) {
        Matcher reference = REFERENCE.matcher(node.getValue());
        StringBuilder text = new StringBuilder();
        boolean plain = true;
        while (reference.find()) {
            String value;
            if (reference.group(1).isEmpty()) {
                try {
                    value = value(reference.group(), reference.group(2), yaml.folder(node));
                } catch (ConfigException e) {
                    yaml.problem(node, reference.group() + ": " + e.getMessage());
                    return node;
                }
                yaml.hidden().add(value, reference.group());
                plain = false;
            } else {
                value = reference.group().substring(1);
            }
            reference.appendReplacement(text, Matcher.quoteReplacement(value));
        }
        reference.appendTail(text);
        ScalarNode result =
                new ScalarNode(Tag.STR, text.toString(), node.getStartMark(), node.getEndMark(), node.getScalarStyle());
        if (!plain) {
            yaml.reference(result, node.getValue());
        }
        return result;
    }

    private String value(String reference, @Nullable String inside, Path folder) throws ConfigException {
        String value = inside != null && inside.startsWith(FILE) && inside.length() > FILE.length()
                ? file(inside.substring(FILE.length()), folder)
                : variable(reference, inside);
        if (value.length() > MAX_TOTAL - total) {
            throw new ConfigException(
                    List.of("at most " + Units.size(MAX_TOTAL) + " in place of all references are expected"));
        }
        total += value.length();
        return value;
    }

    private String variable(String reference, @Nullable String inside) throws ConfigException {
        Matcher parts = VARIABLE.matcher(inside == null ? "" : inside);
        if (!parts.matches()) {
            throw new ConfigException(List.of("${NAME}, ${NAME:-DEFAULT} or ${file:PATH} is expected, or $" + reference
                    + " for the text itself"));
        }
        String name = parts.group(1);
        String byDefault = parts.group(2);
        String value = environment.apply(name);
        if (value == null && byDefault == null) {
            throw new ConfigException(List.of(
                    "the environment variable " + name + " is not set; ${" + name + ":-DEFAULT} has a default"));
        }
        return value == null || (value.isEmpty() && byDefault != null) ? byDefault : value;
    }

    private String file(String name, Path folder) throws ConfigException {
        Path path = ValueShapes.path(name);
        if (path == null) {
            throw new ConfigException(List.of("a path is expected"));
        }
        Path file = folder.resolve(path);
        files.add(file);
        String known = contents.get(file);
        String content = known == null ? content(file) : known;
        contents.put(file, content);
        return content;
    }

    /** The content without the line break at its end, which most editors write. */
    private static String content(Path file) throws ConfigException {
        if (!Files.exists(file)) {
            throw new ConfigException(List.of(file + ": no such file"));
        }
        if (!Files.isRegularFile(file)) {
            throw new ConfigException(List.of(file + " is not a file"));
        }
        byte[] bytes;
        try (InputStream in = Files.newInputStream(file)) {
            bytes = in.readNBytes(MAX_FILE + 1);
        } catch (IOException e) {
            throw new ConfigException(List.of(file + " cannot be read"));
        }
        if (bytes.length > MAX_FILE) {
            throw new ConfigException(
                    List.of(file + " is larger than the " + Units.size(MAX_FILE) + " that are expected at most"));
        }
        try {
            return StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(bytes))
                    .toString()
                    .replaceFirst("\\r?\\n\\z", "");
        } catch (CharacterCodingException e) {
            throw new ConfigException(List.of(file + " is not UTF-8"));
        }
    }
}
