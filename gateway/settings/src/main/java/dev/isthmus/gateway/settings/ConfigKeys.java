package dev.isthmus.gateway.settings;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.yaml.snakeyaml.nodes.MappingNode;
import org.yaml.snakeyaml.nodes.Node;
import org.yaml.snakeyaml.nodes.NodeTuple;
import org.yaml.snakeyaml.nodes.SequenceNode;

/**
 * The keys that a configuration's files have; all others have their defaults.
 *
 * @param paths of sections and of values: keys, and indexes of lists
 */
public record ConfigKeys(Set<List<String>> paths) {
    public static final ConfigKeys NONE = new ConfigKeys(Set.of());

    public ConfigKeys {
        paths = Set.copyOf(paths);
    }

    /** The keys of a document whose {@code <<} are resolved. */
    static ConfigKeys of(Node root) {
        Set<List<String>> paths = new HashSet<>();
        add(root, List.of(), paths);
        return new ConfigKeys(paths);
    }

    private static void add(Node node, List<String> path, Set<List<String>> paths) {
        if (!path.isEmpty()) {
            paths.add(path);
        }
        switch (node) {
            case MappingNode mapping -> {
                for (NodeTuple tuple : mapping.getValue()) {
                    add(tuple.getValueNode(), below(path, YamlReader.key(tuple)), paths);
                }
            }
            case SequenceNode sequence -> {
                for (int i = 0; i < sequence.getValue().size(); i++) {
                    add(sequence.getValue().get(i), below(path, Integer.toString(i)), paths);
                }
            }
            default -> {}
        }
    }

    /** The path of what is under a key of a section, or at an index of a list. */
    public static List<String> below(List<String> path, String key) {
        List<String> below = new ArrayList<>(path);
        below.add(key);
        return List.copyOf(below);
    }
}
