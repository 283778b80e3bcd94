package dev.isthmus.gateway.settings;

import dev.isthmus.gateway.settings.ValueShape.Items;
import dev.isthmus.gateway.settings.ValueShape.Names;
import dev.isthmus.gateway.settings.ValueShape.Section;
import dev.isthmus.gateway.settings.YamlReader.ReadableNodes;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.TreeMap;
import org.yaml.snakeyaml.nodes.Node;

/** Has every section of a configuration {@linkplain CheckedSection check itself}. */
final class SectionChecks {
    private final YamlReader yaml;
    private final SectionPositions positions;
    private final IdentityHashMap<Record, String> names = new IdentityHashMap<>();
    private ReadableNodes nodes;

    SectionChecks(YamlReader yaml, SectionPositions positions) {
        this.yaml = yaml;
        this.positions = positions;
        nodes = yaml.readableNodes();
    }

    SectionPositions positions() {
        return positions;
    }

    ReadableNodes nodes() {
        return nodes;
    }

    void problem(Node at, String text) {
        yaml.problem(at, text);
    }

    /** For what a section has to do with others, under the name that it had in {@link #run}. */
    SectionCheck of(Record section) {
        return new SectionCheck(this, section, names.getOrDefault(section, ""));
    }

    /**
     * Checks a section and those in it.
     *
     * @param path of its keys, for messages
     */
    void run(Record section, String path) {
        if (section instanceof UpstreamConfig) {
            // A problem in a node shared by several upstreams is reported for the first one only.
            nodes = yaml.readableNodes();
        }
        String name = section instanceof CheckedSection checked ? checked.label(path) : path;
        names.put(section, name);
        if (section instanceof CheckedSection checked) {
            checked.check(of(section));
        }
        for (ConfigKey key : ConfigKey.of(section.getClass())) {
            Object value = key.value(section);
            if (value != null) {
                below(key.shape(), value, name, key.name());
            }
        }
    }

    private void below(ValueShape shape, Object value, String parent, String key) {
        if (shape instanceof Section) {
            run((Record) value, SectionReader.child(parent, key));
        } else if (shape instanceof Items items && items.item() instanceof Section) {
            items.parts().apply(value).forEach(each -> run((Record) each, item(parent, key)));
        } else if (shape instanceof Names named && named.value() instanceof Section) {
            new TreeMap<>((Map<?, ?>) value)
                    .forEach((name, each) -> run((Record) each, item(parent, key) + " '" + name + "'"));
        }
    }

    private static String item(String parent, String key) {
        return SectionReader.child(parent, SectionReader.singular(key));
    }
}
