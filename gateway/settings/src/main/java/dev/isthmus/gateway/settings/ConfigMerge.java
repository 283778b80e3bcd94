package dev.isthmus.gateway.settings;

import java.util.ArrayList;
import java.util.List;
import org.yaml.snakeyaml.error.Mark;
import org.yaml.snakeyaml.nodes.MappingNode;
import org.yaml.snakeyaml.nodes.Node;
import org.yaml.snakeyaml.nodes.NodeTuple;

/**
 * Merges the documents of several files. Objects are merged key by key. All else is set in one file: a list, too, since
 * the order of its items may matter, and would depend on the names of files.
 */
final class ConfigMerge {
    /** No section of a configuration is deeper. Ends the merge of objects that contain themselves. */
    private static final int MAX_DEPTH = 50;

    private final YamlReader yaml;

    private ConfigMerge(YamlReader yaml) {
        this.yaml = yaml;
    }

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
                        own.getValueNode(), tuple.getValueNode(), what.isEmpty() ? key : what + ": " + key, depth + 1);
                tuples.set(at, new NodeTuple(own.getKeyNode(), value));
            }
        }
        // A new one: an anchor may have given this object to several places.
        return new MappingNode(one.getTag(), true, tuples, one.getStartMark(), one.getEndMark(), one.getFlowStyle());
    }

    private static String place(Node node) {
        Mark mark = node.getStartMark();
        return mark.getName() + ":" + (mark.getLine() + 1) + ":" + (mark.getColumn() + 1);
    }
}
