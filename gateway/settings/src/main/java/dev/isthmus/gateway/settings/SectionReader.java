package dev.isthmus.gateway.settings;

import dev.isthmus.gateway.settings.ValueShape.AddedSettings;
import dev.isthmus.gateway.settings.ValueShape.Choice;
import dev.isthmus.gateway.settings.ValueShape.Items;
import dev.isthmus.gateway.settings.ValueShape.Names;
import dev.isthmus.gateway.settings.ValueShape.Scalar;
import dev.isthmus.gateway.settings.ValueShape.Section;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.RecordComponent;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.yaml.snakeyaml.DumperOptions;
import org.yaml.snakeyaml.nodes.MappingNode;
import org.yaml.snakeyaml.nodes.Node;
import org.yaml.snakeyaml.nodes.NodeTuple;
import org.yaml.snakeyaml.nodes.ScalarNode;
import org.yaml.snakeyaml.nodes.Tag;

/** Reads records from YAML nodes: one section for each record, one key for each component. */
final class SectionReader {
    /** Looking one up takes most of the time of a small section, of which a configuration may have thousands. */
    private static final ClassValue<Constructor<?>> CONSTRUCTORS = new ClassValue<>() {
        @Override
        protected Constructor<?> computeValue(Class<?> type) {
            Class<?>[] types = Arrays.stream(type.getRecordComponents())
                    .map(RecordComponent::getType)
                    .toArray(Class<?>[]::new);
            try {
                return type.getDeclaredConstructor(types);
            } catch (NoSuchMethodException e) {
                throw new IllegalStateException("a section that cannot be constructed: " + type, e);
            }
        }
    };

    private final YamlReader yaml;
    private final SectionPositions positions;
    private final LayerJars layers;
    /** The file's defaults for sections, by their keys. */
    private final Map<String, Node> defaultNodes = new HashMap<>();
    /** Where the value is that is read now: keys, and indexes of lists. */
    private final List<String> path = new ArrayList<>();
    /** What stands in the file in place of values, by their paths in the form of {@link GatewayConfig#document}. */
    private final Map<List<String>, String> references = new HashMap<>();

    /** Reads records from these nodes. */
    SectionReader(YamlReader yaml, SectionPositions positions, LayerJars layers) {
        this.layers = layers;
        this.yaml = yaml;
        this.positions = positions;
    }

    Map<List<String>, String> references() {
        return references;
    }

    /**
     * Reads a section. Missing or invalid values are replaced by their defaults; required text is then empty.
     *
     * @param what the section's path for messages, empty for the whole configuration
     */
    <R extends Record> R read(Class<R> type, Node node, String what) {
        return read(type, node, what, true);
    }

    private <R extends Record> R read(Class<R> type, Node node, String what, boolean complete) {
        String named = what.isEmpty() ? "the configuration" : what;
        List<ConfigKey> keys = ConfigKey.of(type);
        Set<String> known = ConfigKey.names(type);
        Map<String, Node> given = yaml.object(node, named, known, meant(keys, node));
        @Nullable Object[] values = new @Nullable Object[keys.size()];
        for (int i = 0; i < values.length; i++) {
            ConfigKey key = keys.get(i);
            putDefaults(key, given, what);
            Node at = given.get(key.name());
            if (at == null
                    && complete
                    && key.required()
                    && (node instanceof MappingNode || YamlReader.isNull(node))
                    && given.keySet().stream()
                            .noneMatch(each -> !known.contains(each)
                                    && NearestName.of(each, known).equals(key.name()))) {
                yaml.problem(node, named + ": '" + key.name() + "' is missing");
            }
            Object value = below(key.name(), () -> value(key, at, given, node, what));
            values[i] = value == null ? key.byDefault() : value;
        }
        R section = construct(type, values);
        positions.put(section, node);
        return section;
    }

    /** What may be meant by a text in place of a section: the value of its first required key, or of its first. */
    private String meant(List<ConfigKey> keys, Node node) {
        if (keys.isEmpty()
                || !(node instanceof ScalarNode text)
                || !text.getTag().equals(Tag.STR)
                || yaml.reference(node) != null) {
            return "";
        }
        ConfigKey first = keys.stream().filter(ConfigKey::required).findFirst().orElse(keys.getFirst());
        String value = switch (first.shape()) {
            case Scalar scalar when scalar.read().apply(text.getValue()) != null -> text.getValue();
            case Choice choice -> NearestName.of(text.getValue(), choice.names());
            default -> "";
        };
        return value.isEmpty() ? "" : " - did you mean '{" + first.name() + ": " + value + "}'?";
    }

    /** Reads the value of a key; null if there is none, or an invalid one. */
    private @Nullable Object value(
            ConfigKey key, @Nullable Node at, Map<String, Node> siblings, Node section, String what) {
        if (key.shape() instanceof AddedSettings) {
            Node given = at == null ? object(List.of(), section) : at;
            return addedSettings(siblings.get("name"), given, child(what, key.name()));
        }
        return key.defaultsFrom() == null
                ? at == null ? null : noted(key.shape(), at, value(key.shape(), at, what, key.name()))
                : overDefaults((Section) key.shape(), at, key.defaultsFrom(), child(what, key.name()));
    }

    private @Nullable Object below(String key, Supplier<@Nullable Object> reading) {
        path.addLast(key);
        try {
            return reading.get();
        } finally {
            path.removeLast();
        }
    }

    /** The value at this path; remembers the reference that it came from. */
    private @Nullable Object noted(ValueShape shape, Node node, @Nullable Object value) {
        String text = yaml.reference(node);
        if (text != null && value != null && (shape instanceof Scalar || shape instanceof Choice)) {
            references.put(List.copyOf(path), text);
        }
        return value;
    }

    /** Remembers the references of items that are no sections: a set has another order, and equal items once. */
    private void noteItems(Items items, List<Node> nodes, List<Object> values, Object whole) {
        List<Object> parts = items.parts().apply(whole);
        for (int i = 0; i < Math.min(nodes.size(), values.size()); i++) {
            Node node = nodes.get(i);
            for (int at = 0; yaml.reference(node) != null && at < parts.size(); at++) {
                Object part = parts.get(at);
                if (part.equals(values.get(i))) {
                    below(Integer.toString(at), () -> noted(items.item(), node, part));
                }
            }
        }
    }

    /** Reads the settings of the layer of this name; null if they are invalid, or no jar brings such a layer. */
    private @Nullable Object addedSettings(@Nullable Node name, Node node, String what) {
        String layer = name instanceof ScalarNode scalar ? scalar.getValue() : "";
        Class<? extends Record> type = layers.settings().get(layer);
        if (type == null) {
            if (name != null && !layer.isBlank() && layers.problems().isEmpty()) {
                yaml.problem(
                        name,
                        "layers: no jar of 'folder' brings a layer '" + layer + "'; there "
                                + (layers.settings().isEmpty()
                                        ? "is none"
                                        : "are " + layers.settings().keySet())
                                + NearestName.suggestion(
                                        layer, layers.settings().keySet()));
            }
            return null;
        }
        int problems = yaml.problems().size();
        try {
            return read(type, node, what);
        } catch (RuntimeException refused) {
            // Nothing new, if a value that the record refuses is one in place of an invalid one.
            if (yaml.problems().size() == problems) {
                yaml.problem(node, what + ": " + refused.getMessage());
            }
            return null;
        }
    }

    /** An object at the place of a node. */
    static Node object(List<NodeTuple> members, Node at) {
        return new MappingNode(
                Tag.MAP, true, members, at.getStartMark(), at.getEndMark(), DumperOptions.FlowStyle.FLOW);
    }

    /** Reads the defaults of a map of sections, and copies them into sections that lack them. */
    private void putDefaults(ConfigKey key, Map<String, Node> given, String what) {
        DefaultsKey annotation = key.defaults();
        Node defaults = annotation == null ? null : given.get(annotation.value());
        if (annotation == null || defaults == null) {
            return;
        }
        defaultNodes.put(annotation.value(), defaults);
        below(annotation.value(), () -> read(key.sections().type(), defaults, child(what, annotation.value()), false));
        // They are noted where they are copied to.
        references.keySet().removeIf(each -> each.getFirst().equals(annotation.value()));
        if (given.get(key.name()) instanceof MappingNode own) {
            List<NodeTuple> sections = new ArrayList<>(own.getValue());
            sections.replaceAll(tuple ->
                    new NodeTuple(tuple.getKeyNode(), withDefaults(key.sections(), tuple.getValueNode(), defaults)));
            given.put(key.name(), object(sections, own));
        }
    }

    /** Reads a section with what it lacks from the file's defaults; null if there is neither. */
    private @Nullable Object overDefaults(Section section, @Nullable Node own, DefaultsFrom from, String what) {
        Node defaults = defaultNodes.get(from.value());
        Node whole = own == null ? defaults : withDefaults(section, own, defaults);
        return whole == null ? null : read(section.type(), whole, what, false);
    }

    /** The record of these values of its components. */
    static <R extends Record> R construct(Class<R> type, @Nullable Object[] values) {
        Constructor<?> constructor = CONSTRUCTORS.get(type);
        try {
            // What is no key is null here: it is known when all has been read.
            return type.cast(constructor.newInstance(Arrays.copyOf(values, constructor.getParameterCount())));
        } catch (InvocationTargetException e) {
            // The record of an added layer may check its values.
            throw e.getCause() instanceof RuntimeException refusal ? refusal : new IllegalStateException(e.getCause());
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("a section that cannot be constructed: " + type, e);
        }
    }

    /** Reads a value; null if it is invalid, which has been reported. */
    private @Nullable Object value(ValueShape shape, Node node, String parent, String name) {
        String what = child(parent, name);
        return switch (shape) {
            case Scalar scalar -> scalar(scalar, node, what);
            case Choice choice -> {
                int index = yaml.choice(node, what, choice.names());
                yield index < 0 ? null : choice.constants().get(index);
            }
            case Section section -> read(section.type(), inFull(section, node), what);
            case Items items
            when items.orSingle() && node instanceof MappingNode ->
                below("0", () -> items.whole().apply(List.of(read(((Section) items.item()).type(), node, what))));
            case Items items -> {
                List<Node> nodes = new ArrayList<>();
                List<Object> values = yaml.list(node, what, items.notEmpty(), each -> {
                    nodes.add(each);
                    return below(
                            Integer.toString(nodes.size() - 1),
                            () -> value(items.item(), each, parent, singular(name)));
                });
                if (values.isEmpty() && items.notEmpty()) {
                    yield null;
                }
                Object whole = items.whole().apply(values);
                noteItems(items, nodes, values, whole);
                yield whole;
            }
            case Names names -> names(names, node, parent, name);
            case AddedSettings settings -> throw new IllegalStateException("depends on a name beside it: " + what);
        };
    }

    /** The section that a text is short for, if it may be short. */
    private static Node inFull(Section section, Node node) {
        String key = section.shortForm();
        if (key == null || !(node instanceof ScalarNode) || YamlReader.isNull(node)) {
            return node;
        }
        ScalarNode name =
                new ScalarNode(Tag.STR, key, node.getStartMark(), node.getStartMark(), DumperOptions.ScalarStyle.PLAIN);
        return object(List.of(new NodeTuple(name, node)), node);
    }

    private @Nullable Object scalar(Scalar scalar, Node node, String what) {
        Object value = yaml.scalar(node, what, scalar);
        return value instanceof Path path ? yaml.folder(node).resolve(path) : value;
    }

    private Map<String, Object> names(Names names, Node node, String parent, String name) {
        Map<String, Object> values = new LinkedHashMap<>();
        yaml.members(node, child(parent, name), "").forEach((key, each) -> {
            String stored = names.headers() ? key.toLowerCase(Locale.ROOT) : key;
            Object value = below(
                    stored,
                    () -> noted(
                            names.value(),
                            each,
                            value(names.value(), each, parent, singular(name) + " '" + key + "'")));
            if (key.isBlank() || (names.headers() && !key.matches(ValueShapes.HEADER))) {
                yaml.problem(each, child(parent, name) + ": a name is expected as the key, got '" + key + "'");
            } else if (value != null) {
                values.put(stored, value);
            }
        });
        return Collections.unmodifiableMap(values);
    }

    static String child(String parent, String name) {
        return parent.isEmpty() ? name : parent + ": " + name;
    }

    /** Without a regular expression, which was a quarter of what a reload of 1,000 models allocates. */
    static String singular(String name) {
        return name.endsWith("ies")
                ? name.substring(0, name.length() - 3) + "y"
                : name.substring(0, name.length() - (name.endsWith("ses") ? 2 : name.endsWith("s") ? 1 : 0));
    }

    /** The section with its missing keys copied from the defaults, recursively; lists and scalars are not merged. */
    private static Node withDefaults(Section section, Node own, @Nullable Node defaults) {
        if (!(defaults instanceof MappingNode from)) {
            return own;
        }
        List<NodeTuple> tuples = new ArrayList<>();
        if (own instanceof MappingNode mapping) {
            tuples.addAll(mapping.getValue());
        } else if (!YamlReader.isNull(own)) {
            return own;
        }
        for (NodeTuple each : from.getValue()) {
            int at = YamlReader.indexOf(each, tuples);
            if (at < 0) {
                tuples.add(each);
            } else {
                tuples.set(at, memberWithDefaults(section, tuples.get(at), each.getValueNode()));
            }
        }
        return object(tuples, own);
    }

    private static NodeTuple memberWithDefaults(Section section, NodeTuple own, Node defaults) {
        for (ConfigKey key : section.keys()) {
            if (key.name().equals(YamlReader.key(own)) && key.shape() instanceof Section inner) {
                return new NodeTuple(own.getKeyNode(), withDefaults(inner, own.getValueNode(), defaults));
            }
        }
        return own;
    }
}
