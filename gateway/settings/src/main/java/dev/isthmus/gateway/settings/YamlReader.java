package dev.isthmus.gateway.settings;

import dev.isthmus.gateway.settings.ValueReferences.HiddenValues;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.yaml.snakeyaml.error.Mark;
import org.yaml.snakeyaml.nodes.MappingNode;
import org.yaml.snakeyaml.nodes.Node;
import org.yaml.snakeyaml.nodes.NodeTuple;
import org.yaml.snakeyaml.nodes.ScalarNode;
import org.yaml.snakeyaml.nodes.SequenceNode;
import org.yaml.snakeyaml.nodes.Tag;

/**
 * Reads values from the nodes of a YAML document, which have line numbers. Problems are collected and reading continues
 * with a default, so that all problems are reported in one pass.
 */
final class YamlReader {
    /** More do not help, and each costs time: a file may have 100,000 of one kind. */
    private static final int MAX_PROBLEMS = 1_000;
    /** The nearest name is searched for this many. */
    private static final int MAX_SUGGESTIONS = 100;

    private final Map<String, ConfigText> files = new LinkedHashMap<>();
    private final List<ConfigProblem> problems = new ArrayList<>();
    private int omitted;
    private @Nullable ReadableNodes readable;
    /** How many problems there were at that snapshot. */
    private int readableProblems;

    private final Set<Node> wrong = Collections.newSetFromMap(new IdentityHashMap<>());
    private final IdentityHashMap<Node, String> references = new IdentityHashMap<>();
    private final HiddenValues hidden = new HiddenValues();

    YamlReader(List<ConfigText> files) {
        files.forEach(each -> this.files.put(each.name(), each));
    }

    /** The problems, in the order of the files; the first {@value MAX_PROBLEMS}, and how many more there are. */
    List<ConfigProblem> problems() {
        List<String> order = List.copyOf(files.keySet());
        Stream<ConfigProblem> found = problems.stream()
                .sorted(Comparator.comparing((ConfigProblem each) -> order.indexOf(each.file()))
                        .thenComparing(ConfigProblem::line)
                        .thenComparing(ConfigProblem::column));
        Stream<ConfigProblem> more =
                omitted == 0 ? Stream.of() : Stream.of(new ConfigProblem("", 0, 0, omitted + " more problems"));
        return Stream.concat(found, more).toList();
    }

    /** As {@link NearestName#suggestion}; nothing if there are many problems. */
    String suggestion(String got, Iterable<String> names) {
        return problems.size() < MAX_SUGGESTIONS ? NearestName.suggestion(got, names) : "";
    }

    /** The base of relative paths at a node. */
    Path folder(Node at) {
        String name = at.getStartMark().getName();
        return Objects.requireNonNull(files.get(name), name).folder();
    }

    /** The text of a node came from references. */
    void reference(ScalarNode node, String asWritten) {
        references.put(node, asWritten);
        hidden.add(node.getValue(), asWritten);
    }

    /** The text that stands in the file in place of a node's; null if it has no references. */
    @Nullable
    String reference(Node node) {
        return references.get(node);
    }

    boolean hasReferences() {
        return !references.isEmpty();
    }

    /** The values that are not shown. */
    HiddenValues hidden() {
        return hidden;
    }

    /** A snapshot of the nodes read without problems so far: the same one until there is a further problem. */
    ReadableNodes readableNodes() {
        if (readable == null || readableProblems != problems.size()) {
            readable = new ReadableNodes(wrong);
            readableProblems = problems.size();
        }
        return readable;
    }

    void problem(Node at, String what) {
        wrong.add(at);
        if (problems.size() == MAX_PROBLEMS) {
            omitted++;
            return;
        }
        Mark mark = at.getStartMark();
        String shown = what;
        String reference = references.get(at);
        if (reference != null && at instanceof ScalarNode scalar) {
            shown = what.replace("'" + scalar.getValue() + "'", "'" + reference + "'");
        }
        // A URL with user and password, which none may have.
        shown = hidden.masked(shown).replaceAll("://\\S*@", "://...@");
        problems.add(new ConfigProblem(mark.getName(), mark.getLine() + 1, mark.getColumn() + 1, shown));
    }

    /**
     * As {@link #problem}, but once per node: a node may be read for many sections, by an anchor or as their default.
     */
    private void problemOnce(Node at, String what) {
        if (!wrong.contains(at)) {
            problem(at, what);
        }
    }

    /** Resolves {@code <<}: an object's own keys take precedence, then those of the first merged object. */
    void merge(Node node) {
        merge(node, Collections.newSetFromMap(new IdentityHashMap<>()));
    }

    private void merge(Node node, Set<Node> seen) {
        if (!seen.add(node)) {
            return;
        }
        if (node instanceof SequenceNode sequence) {
            sequence.getValue().forEach(each -> merge(each, seen));
        } else if (node instanceof MappingNode mapping) {
            mapping.getValue().forEach(tuple -> merge(tuple.getValueNode(), seen));
            for (NodeTuple tuple : List.copyOf(mapping.getValue())) {
                if (tuple.getKeyNode().getTag().equals(Tag.MERGE)) {
                    mapping.getValue().remove(tuple);
                    merged(tuple.getValueNode()).forEach(from -> addMissing(mapping, from));
                }
            }
        }
    }

    private List<MappingNode> merged(Node value) {
        List<Node> all = value instanceof SequenceNode sequence ? sequence.getValue() : List.of(value);
        List<MappingNode> objects = new ArrayList<>();
        for (Node each : all) {
            if (each instanceof MappingNode object) {
                objects.add(object);
            } else {
                problem(each, "<<: an object or a list of objects is expected, got " + shown(each));
            }
        }
        return objects;
    }

    private static void addMissing(MappingNode mapping, MappingNode from) {
        Set<String> given = new HashSet<>();
        mapping.getValue().forEach(tuple -> given.add(key(tuple)));
        from.getValue().stream().filter(tuple -> !given.contains(key(tuple))).forEach(mapping.getValue()::add);
    }

    static String key(NodeTuple tuple) {
        return tuple.getKeyNode() instanceof ScalarNode scalar ? scalar.getValue() : "";
    }

    /**
     * The members of an object; unknown and repeated keys are problems.
     *
     * @param meant what may be meant by a node that is none, for the message
     */
    Map<String, Node> object(Node node, String what, Set<String> known, String meant) {
        Map<String, Node> members = members(node, what, meant);
        for (NodeTuple tuple : node instanceof MappingNode mapping ? mapping.getValue() : List.<NodeTuple>of()) {
            String key = ((ScalarNode) tuple.getKeyNode()).getValue();
            if (!known.contains(key)) {
                problemOnce(
                        tuple.getKeyNode(),
                        "unknown key '" + key + "' in " + what + NearestName.suggestion(key, known));
            }
        }
        return members;
    }

    /** As {@link #object}; the keys are names. */
    Map<String, Node> members(Node node, String what, String meant) {
        Map<String, Node> members = new LinkedHashMap<>();
        if (!(node instanceof MappingNode mapping)) {
            if (!isNull(node)) {
                problemOnce(node, what + ": an object is expected, got " + shown(node) + meant);
            }
            return members;
        }
        for (NodeTuple tuple : List.copyOf(mapping.getValue())) {
            if (!(tuple.getKeyNode() instanceof ScalarNode key)) {
                problemOnce(tuple.getKeyNode(), what + ": a key must be plain text");
                mapping.getValue().remove(tuple);
            } else if (members.putIfAbsent(key.getValue(), tuple.getValueNode()) != null) {
                problemOnce(key, "key '" + key.getValue() + "' is given twice in " + what);
            }
        }
        return members;
    }

    /** The values of the items; invalid ones are omitted. */
    List<Object> list(Node node, String what, boolean notEmpty, Function<Node, @Nullable Object> item) {
        List<Object> items = new ArrayList<>();
        if (!(node instanceof SequenceNode sequence)) {
            problemOnce(node, what + ": a list is expected, got " + shown(node));
            return items;
        }
        if (notEmpty && sequence.getValue().isEmpty()) {
            problemOnce(node, what + ": at least one entry is expected");
        }
        for (Node each : sequence.getValue()) {
            Object value = item.apply(each);
            if (value != null) {
                items.add(value);
            }
        }
        return items;
    }

    /** The value that the shape parses; null if it is invalid. */
    @Nullable
    Object scalar(Node node, String what, ValueShape.Scalar shape) {
        if (wrong.contains(node)) {
            return null;
        }
        String text = node instanceof ScalarNode scalar && !isNull(node) ? scalar.getValue() : null;
        Object value = text == null ? null : shape.read().apply(text);
        if (value == null) {
            String why = text == null || references.containsKey(node)
                    ? ""
                    : shape.why().apply(text);
            problem(node, what + ": " + shape.expectation() + " is expected, got " + shown(node) + why);
        } else if (references.containsKey(node) && !(value instanceof SecretText)) {
            hidden.add(shape.write().apply(value).toString(), references.get(node));
        }
        return value;
    }

    /** The index of the node's text in {@code names}; -1 if it is none of them. */
    int choice(Node node, String what, List<String> names) {
        String got = node instanceof ScalarNode scalar ? scalar.getValue() : "";
        int index = names.indexOf(got);
        if (index < 0) {
            problemOnce(
                    node,
                    what + ": one of " + String.join(", ", names) + " is expected, got " + shown(node)
                            + NearestName.suggestion(got, names));
        }
        return index;
    }

    /** The index of the same key; -1 if there is none. */
    static int indexOf(NodeTuple tuple, List<NodeTuple> tuples) {
        for (int i = 0; i < tuples.size(); i++) {
            if (tuple.getKeyNode() instanceof ScalarNode
                    && tuples.get(i).getKeyNode() instanceof ScalarNode
                    && key(tuples.get(i)).equals(key(tuple))) {
                return i;
            }
        }
        return -1;
    }

    static boolean isNull(Node node) {
        return node.getTag().equals(Tag.NULL);
    }

    private String shown(Node node) {
        String reference = references.get(node);
        return switch (node) {
            case ScalarNode scalar when reference != null -> "'" + reference + "'";
            case MappingNode mapping -> "an object";
            case SequenceNode sequence -> "a list";
            case ScalarNode scalar -> isNull(node) ? "nothing" : "'" + scalar.getValue() + "'";
            default -> node.getTag().toString();
        };
    }

    /**
     * The nodes of the file that were read without problems. Values of other nodes were replaced by defaults, so checks on
     * them might report problems that do not exist.
     */
    static final class ReadableNodes {
        private final Set<Node> wrong = Collections.newSetFromMap(new IdentityHashMap<>());
        /** What was found: all sections that are not in the file have the position of the whole file. */
        private final IdentityHashMap<Node, Boolean> valid = new IdentityHashMap<>();

        /** @param wrong the nodes with reported problems */
        ReadableNodes(Set<Node> wrong) {
            this.wrong.addAll(wrong);
        }

        /** Whether the node itself has no problem. */
        boolean readable(Node node) {
            return !wrong.contains(node);
        }

        /** Whether neither the node nor its descendants have a problem. */
        boolean valid(Node node) {
            return wrong.isEmpty()
                    || valid.computeIfAbsent(
                            node, unknown -> soundBelow(unknown, Collections.newSetFromMap(new IdentityHashMap<>())));
        }

        /** Whether neither a section's own keys nor the values of {@code keys} have a problem. */
        boolean valid(Node section, Set<String> keys) {
            return readable(section)
                    && (!(section instanceof MappingNode mapping)
                            || mapping.getValue().stream()
                                    .allMatch(tuple -> readable(tuple.getKeyNode())
                                            && (!keys.contains(key(tuple)) || valid(tuple.getValueNode()))));
        }

        /** @param seen visited nodes: anchors make the document a graph, possibly with cycles */
        private boolean soundBelow(Node node, Set<Node> seen) {
            if (!seen.add(node)) {
                return true;
            }
            if (wrong.contains(node)) {
                return false;
            }
            return switch (node) {
                case MappingNode mapping ->
                    mapping.getValue().stream()
                            .allMatch(tuple ->
                                    soundBelow(tuple.getKeyNode(), seen) && soundBelow(tuple.getValueNode(), seen));
                case SequenceNode sequence -> sequence.getValue().stream().allMatch(each -> soundBelow(each, seen));
                default -> true;
            };
        }
    }
}
