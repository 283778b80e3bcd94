package dev.isthmus.gateway.settings;

import static dev.isthmus.gateway.settings.ValueShapes.ordered;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.util.DefaultIndenter;
import com.fasterxml.jackson.core.util.DefaultPrettyPrinter;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.gateway.settings.LayersConfig.AddedLayer;
import dev.isthmus.gateway.settings.ValueShape.AddedSettings;
import dev.isthmus.gateway.settings.ValueShape.Choice;
import dev.isthmus.gateway.settings.ValueShape.Items;
import dev.isthmus.gateway.settings.ValueShape.Names;
import dev.isthmus.gateway.settings.ValueShape.Scalar;
import dev.isthmus.gateway.settings.ValueShape.Section;
import java.math.BigDecimal;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The JSON Schema (draft 2020-12) of the configuration, generated from the records. It describes the form of each
 * value; only {@link ConfigLoader} checks relations between sections.
 */
public final class ConfigSchema {
    private final Map<String, Object> definitions = new LinkedHashMap<>();
    /** Sections whose required keys may come from their defaults. */
    private final Set<Section> withDefaults = new HashSet<>();

    private final LayerJars layers;

    private ConfigSchema(LayerJars layers) {
        this.layers = layers;
    }

    /** The indented schema, with a trailing newline. Says nothing of the settings of layers that jars bring. */
    public static String text() {
        return text(LayerJars.NONE);
    }

    /**
     * As {@link #text()}, with the settings of the layers that the jars of a folder bring. Blocks.
     *
     * @throws ConfigException if there is something wrong with one of them
     */
    public static String text(Path layers) throws ConfigException {
        LayerJars jars = LayerJars.in(layers);
        if (!jars.problems().isEmpty()) {
            throw new ConfigException(jars.problems());
        }
        return text(jars);
    }

    private static String text(LayerJars layers) {
        Map<String, Object> schema = new LinkedHashMap<>();
        schema.put("$schema", "https://json-schema.org/draft/2020-12/schema");
        schema.put("title", ConfigKey.doc(GatewayConfig.class));
        ConfigSchema all = new ConfigSchema(layers);
        schema.putAll(all.section(new Section(GatewayConfig.class)));
        schema.put("$defs", all.definitions);
        DefaultPrettyPrinter lines = new DefaultPrettyPrinter().withObjectIndenter(new DefaultIndenter("  ", "\n"));
        try {
            return new ObjectMapper().writer(lines).writeValueAsString(schema) + "\n";
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("the schema cannot be written", e);
        }
    }

    private Map<String, Object> section(Section section) {
        Map<String, Object> properties = new LinkedHashMap<>();
        for (ConfigKey key : section.keys()) {
            if (key.defaults() != null) {
                withDefaults.add(key.sections());
                properties.put(key.defaults().value(), defaults(key.defaults(), key));
            }
            properties.put(key.name(), property(key));
        }
        List<String> required = withDefaults.contains(section) ? List.of() : required(section);
        Map<String, Object> schema = new LinkedHashMap<>();
        schema.put("type", required.isEmpty() ? List.of("object", "null") : "object");
        schema.put("properties", properties);
        if (!required.isEmpty()) {
            schema.put("required", required);
        }
        schema.put("additionalProperties", false);
        section.keys().stream()
                .filter(key -> key.defaults() != null)
                .forEach(key -> schema.putAll(requiredWithout(key.defaults(), key)));
        if (section.type() == AddedLayer.class && !layers.settings().isEmpty()) {
            schema.put("allOf", settingsByLayer());
        }
        return schema;
    }

    /** What holds for the settings of each layer that a jar brings, and that there is no other one. */
    private List<Object> settingsByLayer() {
        List<Object> rules = new ArrayList<>();
        rules.add(Map.of(
                "properties",
                Map.of("name", Map.of("enum", List.copyOf(layers.settings().keySet())))));
        layers.settings().forEach((name, type) -> {
            Section settings = new Section(type);
            Map<String, Object> then = new LinkedHashMap<>();
            then.put("properties", Map.of("settings", reference(settings)));
            if (!required(settings).isEmpty()) {
                then.put("required", List.of("settings"));
            }
            rules.add(ordered("if", Map.of("properties", Map.of("name", Map.of("const", name))), "then", then));
        });
        return rules;
    }

    private Map<String, Object> defaults(DefaultsKey defaults, ConfigKey key) {
        Map<String, Object> schema = ordered("description", defaults.doc());
        schema.putAll(reference(key.sections()));
        return schema;
    }

    /** Without defaults, each section must have its required keys itself. */
    private static Map<String, Object> requiredWithout(DefaultsKey defaults, ConfigKey key) {
        Map<String, Object> sections = ordered(
                "description",
                "Without '" + defaults.value() + "' each has what is required.",
                "additionalProperties",
                ordered("type", "object", "required", required(key.sections())));
        return ordered(
                "if",
                Map.of("not", Map.of("required", List.of(defaults.value()))),
                "then",
                Map.of("properties", Map.of(key.name(), sections)));
    }

    private static List<String> required(Section section) {
        return section.keys().stream()
                .filter(ConfigKey::required)
                .map(ConfigKey::name)
                .toList();
    }

    private Map<String, Object> property(ConfigKey key) {
        Map<String, Object> schema = new LinkedHashMap<>();
        if (!key.doc().isEmpty()) {
            schema.put("description", key.doc());
        }
        schema.putAll(of(key.shape()));
        if (!key.required() && key.byDefault() != null && !(key.shape() instanceof Section)) {
            schema.put("default", key.shape().written(key.byDefault()));
        }
        return schema;
    }

    private Map<String, Object> of(ValueShape shape) {
        return switch (shape) {
            case Scalar scalar -> orReference(scalar.schema());
            case Choice choice -> orReference(Map.of("enum", words(choice)));
            case Items items -> {
                Map<String, Object> schema = ordered("type", "array", "items", of(items.item()));
                if (items.notEmpty()) {
                    schema.put("minItems", 1);
                }
                yield items.orSingle() ? Map.of("anyOf", List.of(of(items.item()), schema)) : schema;
            }
            case Names names -> names(names);
            case AddedSettings settings -> Map.of("type", List.of("object", "null"));
            case Section section ->
                section.shortForm() == null
                        ? reference(section)
                        : Map.of("anyOf", List.of(ValueShapes.ANY_TEXT, reference(section)));
        };
    }

    /** What a value is, or a reference in its place. */
    private Map<String, Object> orReference(Map<String, Object> value) {
        if ("\\S".equals(value.get("pattern"))) {
            return value;
        }
        definitions.put("reference", ordered("type", "string", "pattern", "\\$\\{"));
        return Map.of("anyOf", List.of(value, Map.of("$ref", "#/$defs/reference")));
    }

    private Map<String, Object> names(Names names) {
        return ordered(
                "type",
                List.of("object", "null"),
                "propertyNames",
                Map.of("pattern", names.headers() ? "^" + ValueShapes.HEADER + "$" : "\\S"),
                "additionalProperties",
                of(names.value()));
    }

    private Map<String, Object> reference(Section section) {
        String name = section.type().getName().replaceAll(".*\\.", "").replace('$', '.');
        if (!definitions.containsKey(name)) {
            definitions.put(name, Map.of());
            definitions.put(name, section(section));
        }
        return Map.of("$ref", "#/$defs/" + name);
    }

    /** The words, and the values that YAML parses some of them into. */
    private static List<Object> words(Choice choice) {
        List<Object> words = new ArrayList<>(choice.names());
        for (String name : choice.names()) {
            switch (name) {
                case "true" -> words.add(true);
                case "false" -> words.add(false);
                case "null" -> words.add(null);
                default -> {
                    if (name.matches("[0-9]+\\.[0-9]+")) {
                        words.add(new BigDecimal(name));
                    }
                }
            }
        }
        return words;
    }
}
