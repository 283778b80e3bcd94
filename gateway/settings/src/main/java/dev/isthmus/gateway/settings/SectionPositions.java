package dev.isthmus.gateway.settings;

import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.yaml.snakeyaml.nodes.MappingNode;
import org.yaml.snakeyaml.nodes.Node;
import org.yaml.snakeyaml.nodes.NodeTuple;
import org.yaml.snakeyaml.nodes.SequenceNode;

/** The position of each section in the file. A key that is not in the file has the position of its section. */
final class SectionPositions {
    private final Node root;
    private final IdentityHashMap<Record, Node> sections = new IdentityHashMap<>();
    private final IdentityHashMap<MappingNode, Map<String, NodeTuple>> byName = new IdentityHashMap<>();

    SectionPositions(Node root) {
        this.root = root;
    }

    void put(Record section, Node node) {
        sections.put(section, node);
    }

    Node of(Record section) {
        return sections.getOrDefault(section, root);
    }

    /** The value at this path of keys from the root; null if there is none. */
    @Nullable
    Node at(String... path) {
        Node node = root;
        for (String key : path) {
            NodeTuple tuple = member(node, key);
            if (tuple == null) {
                return null;
            }
            node = tuple.getValueNode();
        }
        return node;
    }

    /** The value of a key. */
    Node of(Record section, String key) {
        return below(of(section), key);
    }

    /** An item of the list under a key. */
    Node of(Record section, String key, int index, int size) {
        Node list = of(section, key);
        return list instanceof SequenceNode sequence && sequence.getValue().size() == size
                ? sequence.getValue().get(index)
                : list;
    }

    /** The name of an entry in the map under a key. */
    Node ofName(Record section, String key, String name) {
        Node map = of(section, key);
        NodeTuple tuple = member(map, name);
        return tuple == null ? map : tuple.getKeyNode();
    }

    /** The value of an entry in a map; the map if there is none. */
    Node below(Node map, String name) {
        NodeTuple tuple = member(map, name);
        return tuple == null ? map : tuple.getValueNode();
    }

    private @Nullable NodeTuple member(Node node, String name) {
        if (!(node instanceof MappingNode mapping)) {
            return null;
        }
        Map<String, NodeTuple> members = byName.computeIfAbsent(mapping, SectionPositions::byName);
        NodeTuple exact = members.get(name);
        return exact == null ? members.get(inAnyCase(name)) : exact;
    }

    /** The entries by their keys and, where none has another key, by those in any case. */
    private static Map<String, NodeTuple> byName(MappingNode mapping) {
        Map<String, NodeTuple> members = new HashMap<>();
        for (NodeTuple tuple : mapping.getValue()) {
            String key = YamlReader.key(tuple);
            members.putIfAbsent(key, tuple);
            members.put(inAnyCase(key), tuple);
        }
        return members;
    }

    /** No key has a line break at its start. */
    private static String inAnyCase(String name) {
        return "\n" + name.toLowerCase(Locale.ROOT);
    }
}
