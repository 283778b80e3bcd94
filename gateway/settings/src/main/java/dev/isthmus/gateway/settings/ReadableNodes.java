package dev.isthmus.gateway.settings;

import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;
import org.yaml.snakeyaml.nodes.MappingNode;
import org.yaml.snakeyaml.nodes.Node;
import org.yaml.snakeyaml.nodes.ScalarNode;
import org.yaml.snakeyaml.nodes.SequenceNode;

/**
 * Which parts of the file could be read. In the others a default stands for what could not: what a check would find there may
 * only follow from it.
 */
final class ReadableNodes {
    private final Set<Node> wrong = Collections.newSetFromMap(new IdentityHashMap<>());

    /** @param wrong the nodes that a problem was told of */
    ReadableNodes(Set<Node> wrong) {
        this.wrong.addAll(wrong);
    }

    /** Whether nothing is wrong with the node itself. */
    boolean readable(Node node) {
        return !wrong.contains(node);
    }

    /** Whether nothing is wrong with the node and what is in it. */
    boolean sound(Node node) {
        return soundBelow(node, Collections.newSetFromMap(new IdentityHashMap<>()));
    }

    /** Whether nothing is wrong with a section's own keys and with the values of these. */
    boolean sound(Node section, Set<String> keys) {
        if (!(section instanceof MappingNode mapping)) {
            return readable(section);
        }
        return readable(section)
                && mapping.getValue().stream()
                        .allMatch(tuple -> readable(tuple.getKeyNode())
                                && (!(tuple.getKeyNode() instanceof ScalarNode key)
                                        || !keys.contains(key.getValue())
                                        || sound(tuple.getValueNode())));
    }

    /** @param seen anchors make a graph of the document, with circles even */
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
