package dev.isthmus.gateway.settings;

import dev.isthmus.gateway.settings.ValueReferences.ValueReference;
import dev.isthmus.gateway.settings.ValueShape.AddedSettings;
import dev.isthmus.gateway.settings.ValueShape.Choice;
import dev.isthmus.gateway.settings.ValueShape.Items;
import dev.isthmus.gateway.settings.ValueShape.Names;
import dev.isthmus.gateway.settings.ValueShape.Scalar;
import dev.isthmus.gateway.settings.ValueShape.Section;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.yaml.snakeyaml.nodes.Node;
import org.yaml.snakeyaml.nodes.ScalarNode;
import org.yaml.snakeyaml.nodes.SequenceNode;

/** Finds which values of a configuration came from references. */
final class ReferencePaths {
    private final YamlReader yaml;
    private final SectionPositions positions;
    private final Map<List<String>, ValueReference> found = new HashMap<>();

    private ReferencePaths(YamlReader yaml, SectionPositions positions) {
        this.yaml = yaml;
        this.positions = positions;
    }

    /** The references of a configuration without problems. */
    static ValueReferences of(GatewayConfig config, SectionPositions positions, YamlReader yaml) {
        if (!yaml.hasReferences()) {
            return ValueReferences.NONE;
        }
        ReferencePaths paths = new ReferencePaths(yaml, positions);
        paths.section(config, List.of());
        return new ValueReferences(paths.found, yaml.hidden());
    }

    private void section(Record section, List<String> path) {
        for (ConfigKey key : ConfigKey.of(section.getClass())) {
            Object value = key.value(section);
            if (value != null) {
                value(key.shape(), value, positions.of(section, key.name()), ConfigKeys.below(path, key.name()));
            }
        }
    }

    private void value(ValueShape shape, Object value, Node node, List<String> path) {
        switch (shape) {
            case Section inner -> section((Record) value, path);
            case AddedSettings settings -> section((Record) value, path);
            case Items items -> items(items, value, node, path);
            case Names names ->
                ((Map<?, ?>) value)
                        .forEach((name, each) -> value(
                                names.value(),
                                each,
                                positions.below(node, (String) name),
                                ConfigKeys.below(path, (String) name)));
            case Scalar scalar -> put(node, path, scalar.written(value));
            case Choice choice -> put(node, path, choice.written(value));
        }
    }

    private void items(Items items, Object value, Node node, List<String> path) {
        List<Object> parts = items.parts().apply(value);
        List<Node> nodes = node instanceof SequenceNode sequence ? sequence.getValue() : List.of();
        if (items.item() instanceof Section) {
            for (int i = 0; i < parts.size(); i++) {
                section((Record) parts.get(i), ConfigKeys.below(path, Integer.toString(i)));
            }
            return;
        }
        // A set has another order, and equal items once.
        for (Node each : nodes) {
            for (int i = 0; i < parts.size(); i++) {
                if (each instanceof ScalarNode scalar && reads(items.item(), scalar.getValue(), parts.get(i))) {
                    put(
                            each,
                            ConfigKeys.below(path, Integer.toString(i)),
                            items.item().written(parts.get(i)));
                }
            }
        }
    }

    /** Whether a text is read as this value. */
    private static boolean reads(ValueShape shape, String text, Object value) {
        return switch (shape) {
            case Scalar scalar -> value.equals(scalar.read().apply(text));
            case Choice choice -> choice.written(value).equals(text);
            default -> false;
        };
    }

    private void put(Node node, List<String> path, Object written) {
        String text = yaml.reference(node);
        if (text != null) {
            found.put(path, new ValueReference(text, written));
        }
    }
}
