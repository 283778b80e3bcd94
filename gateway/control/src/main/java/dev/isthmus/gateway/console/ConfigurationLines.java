package dev.isthmus.gateway.console;

import dev.isthmus.gateway.settings.ConfigKeys;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** A configuration as lines of YAML, each with whether the file sets it. */
final class ConfigurationLines {
    private static final Pattern PLAIN = Pattern.compile("[A-Za-z0-9_][A-Za-z0-9_.%/@+*-]*");
    /** User and password of a URL. */
    private static final Pattern USER = Pattern.compile("://[^/@\\s]+@");

    private final ConfigKeys keys;
    private final List<Map<String, Object>> lines = new ArrayList<>();

    private ConfigurationLines(ConfigKeys keys) {
        this.keys = keys;
    }

    /** The lines of a document, without secrets: {text, set}. */
    static List<Map<String, Object>> of(Map<String, Object> document, ConfigKeys keys) {
        ConfigurationLines lines = new ConfigurationLines(keys);
        lines.members(document, List.of(), 0);
        return lines.lines;
    }

    /** The text without passwords of URLs. */
    static String withoutSecrets(String text) {
        return USER.matcher(text).replaceAll("://...@");
    }

    private void members(Map<?, ?> section, List<String> path, int depth) {
        section.forEach((key, value) -> {
            String name = String.valueOf(key);
            value(scalar(name) + ":", value, below(path, name), depth);
        });
    }

    private void value(String name, @Nullable Object value, List<String> path, int depth) {
        switch (value) {
            case Map<?, ?> map
            when !map.isEmpty() -> {
                line(name, path, depth);
                members(map, path, depth + 1);
            }
            case List<?> list
            when list.stream().anyMatch(Map.class::isInstance) -> {
                line(name, path, depth);
                for (int i = 0; i < list.size(); i++) {
                    value("-", list.get(i), below(path, Integer.toString(i)), depth + 1);
                }
            }
            case null, default -> line(name + " " + inline(value), path, depth);
        }
    }

    private void line(String text, List<String> path, int depth) {
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("text", "  ".repeat(depth) + withoutSecrets(text));
        line.put("set", keys.paths().contains(path));
        lines.add(line);
    }

    private static String inline(@Nullable Object value) {
        return switch (value) {
            case null -> "none";
            case Map<?, ?> map -> "{}";
            case List<?> list -> {
                List<String> items = new ArrayList<>();
                list.forEach(each -> items.add(inline(each)));
                yield "[" + String.join(", ", items) + "]";
            }
            default -> scalar(value.toString());
        };
    }

    private static String scalar(String text) {
        return PLAIN.matcher(text).matches()
                ? text
                : '"' + text.replace("\\", "\\\\").replace("\"", "\\\"").replaceAll("\\p{Cntrl}", "?") + '"';
    }

    private static List<String> below(List<String> path, String key) {
        List<String> longer = new ArrayList<>(path);
        longer.add(key);
        return List.copyOf(longer);
    }
}
