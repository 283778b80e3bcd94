package dev.isthmus.gateway.settings;

import dev.isthmus.gateway.settings.ValueShape.AddedSettings;
import dev.isthmus.gateway.settings.ValueShape.Choice;
import dev.isthmus.gateway.settings.ValueShape.Items;
import dev.isthmus.gateway.settings.ValueShape.Names;
import dev.isthmus.gateway.settings.ValueShape.Scalar;
import dev.isthmus.gateway.settings.ValueShape.Section;
import java.util.List;
import java.util.Map;

/** The reference of all keys in Markdown: one table for each section, generated from the records. */
final class ConfigReference {
    private final StringBuilder text = new StringBuilder();

    private ConfigReference() {}

    /** All tables. */
    static String markdown() {
        ConfigReference reference = new ConfigReference();
        reference.section("The file", new Section(GatewayConfig.class));
        return reference.text.toString();
    }

    private void section(String heading, Section section) {
        text.append("### ").append(heading).append('\n');
        String doc = ConfigKey.doc(section.type());
        if (!doc.isEmpty()) {
            text.append(escaped(doc)).append("\n\n");
        }
        text.append("| key | value | default | meaning |\n|---|---|---|---|\n");
        for (ConfigKey key : section.keys()) {
            if (key.defaults() != null) {
                row(key.defaults().value(), "a section", "none", key.defaults().doc());
            }
            row(key.name(), takes(key.shape()), byDefault(key), key.doc());
        }
        text.append('\n');
        String parent = section.type() == GatewayConfig.class ? "" : unquoted(heading) + ".";
        for (ConfigKey key : section.keys()) {
            if (key.defaultsFrom() == null) {
                below(parent + key.name(), key.shape());
            }
        }
    }

    private void row(String key, String takes, String byDefault, String doc) {
        text.append("| `").append(key).append("` | ").append(escaped(takes)).append(" | ");
        text.append(byDefault).append(" | ").append(escaped(doc)).append(" |\n");
    }

    private void below(String path, ValueShape shape) {
        switch (shape) {
            case Section inner -> section("`" + path + "`", inner);
            case Items items -> below(path + "[]", items.item());
            case Names names -> below(path + ".NAME", names.value());
            case Scalar scalar -> {}
            case Choice choice -> {}
            case AddedSettings settings -> {}
        }
    }

    private static String unquoted(String heading) {
        return heading.substring(1, heading.length() - 1);
    }

    private static String takes(ValueShape shape) {
        return switch (shape) {
            case Scalar scalar -> scalar.expectation();
            case Choice choice -> String.join(", ", choice.names());
            case Items items -> (items.orSingle() ? "a section, or " : "") + "a list of: " + takes(items.item());
            case Names names -> "by name: " + takes(names.value());
            case AddedSettings settings -> "a section";
            case Section section -> section.shortForm() == null ? "a section" : "a text, or a section";
        };
    }

    private static String byDefault(ConfigKey key) {
        if (key.required()) {
            return "required";
        }
        if (key.byDefault() == null) {
            return "none";
        }
        if (key.defaultsFrom() != null) {
            return "`" + key.defaultsFrom().value() + "`";
        }
        Object written = key.shape().written(key.byDefault());
        if (key.shape() instanceof Section) {
            return "see below";
        } else if (written instanceof List<?> list) {
            return list.isEmpty() ? "empty" : list.get(0) instanceof Map ? "see below" : "`" + list + "`";
        }
        return written instanceof Map ? "empty" : "`" + written + "`";
    }

    private static String escaped(String doc) {
        return doc.replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;");
    }
}
