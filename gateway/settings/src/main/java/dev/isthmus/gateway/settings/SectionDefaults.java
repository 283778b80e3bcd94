package dev.isthmus.gateway.settings;

import dev.isthmus.gateway.settings.ValueShape.Section;
import java.util.ArrayList;
import java.util.List;
import org.yaml.snakeyaml.nodes.MappingNode;
import org.yaml.snakeyaml.nodes.Node;
import org.yaml.snakeyaml.nodes.NodeTuple;
import org.yaml.snakeyaml.nodes.Tag;

/** Merges a file's defaults into a section. */
final class SectionDefaults {
    private SectionDefaults() {}

    /** The section with its missing keys copied from the defaults, recursively; lists and scalars are not merged. */
    static Node put(Section section, Node own, Node defaults) {
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
            int at = indexOf(YamlReader.key(each), tuples);
            if (at < 0) {
                tuples.add(each);
            } else {
                tuples.set(at, inner(section, tuples.get(at), each.getValueNode()));
            }
        }
        return new MappingNode(Tag.MAP, true, tuples, own.getStartMark(), own.getEndMark(), from.getFlowStyle());
    }

    private static NodeTuple inner(Section section, NodeTuple own, Node defaults) {
        for (ConfigKey key : section.keys()) {
            if (key.name().equals(YamlReader.key(own)) && key.shape() instanceof Section inner) {
                return new NodeTuple(own.getKeyNode(), put(inner, own.getValueNode(), defaults));
            }
        }
        return own;
    }

    private static int indexOf(String key, List<NodeTuple> tuples) {
        for (int i = 0; i < tuples.size(); i++) {
            if (YamlReader.key(tuples.get(i)).equals(key)) {
                return i;
            }
        }
        return -1;
    }
}
