package dev.isthmus.gateway.settings;

import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;
import org.yaml.snakeyaml.nodes.MappingNode;
import org.yaml.snakeyaml.nodes.Node;
import org.yaml.snakeyaml.nodes.ScalarNode;
import org.yaml.snakeyaml.nodes.SequenceNode;

/**
 * The nodes of the file that were read without problems. Values of other nodes were replaced by defaults, so checks on
 * them might report problems that do not exist.
 */
final class ReadableNodes {
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
        return valid.computeIfAbsent(
                node, unknown -> soundBelow(unknown, Collections.newSetFromMap(new IdentityHashMap<>())));
    }

    /** Whether neither a section's own keys nor the values of {@code keys} have a problem. */
    boolean valid(Node section, Set<String> keys) {
        if (!(section instanceof MappingNode mapping)) {
            return readable(section);
        }
        return readable(section)
                && mapping.getValue().stream()
                        .allMatch(tuple -> readable(tuple.getKeyNode())
                                && (!(tuple.getKeyNode() instanceof ScalarNode key)
                                        || !keys.contains(key.getValue())
                                        || valid(tuple.getValueNode())));
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
