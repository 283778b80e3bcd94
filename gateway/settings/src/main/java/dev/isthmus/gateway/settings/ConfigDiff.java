package dev.isthmus.gateway.settings;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The differences between two configurations, by configuration key.
 *
 * @param changes applied by a reload: {@code upstream 't': timeout: 60s -> 10s}
 * @param needRestart applied only by a restart, in the same form
 * @param effects what a reload does beside that: "listener 0.0.0.0:8080: binds port 8080"
 */
public record ConfigDiff(List<String> changes, List<String> needRestart, List<String> effects) {
    private static final Set<String> AT_START = Set.of("admin", "ramps", "shared");
    private static final Set<String> BY_NAME = Set.of("upstreams", "models");

    public ConfigDiff {
        changes = List.copyOf(changes);
        needRestart = List.copyOf(needRestart);
        effects = List.copyOf(effects);
    }

    /** The changes from {@code before} to {@code after}. */
    public static ConfigDiff of(GatewayConfig before, GatewayConfig after) {
        Map<String, Object> old = document(before);
        Map<String, Object> recent = document(after);
        List<String> changes = new ArrayList<>();
        List<String> needRestart = new ArrayList<>();
        for (ConfigKey key : ConfigKey.of(GatewayConfig.class)) {
            String name = key.name();
            List<String> to = AT_START.contains(name) ? needRestart : changes;
            if (BY_NAME.contains(name)) {
                named(name.substring(0, name.length() - 1), old.get(name), recent.get(name), to);
            } else {
                compare(name, old.get(name), recent.get(name), to);
            }
        }
        return new ConfigDiff(
                changes,
                needRestart,
                ReloadEffects.of(before, after).stream()
                        .map(before.references()::masked)
                        .map(after.references()::masked)
                        .toList());
    }

    /** A value that came from a reference, which is shown in its place. */
    private record ReferencedValue(Object value, String reference) {
        @Override
        public String toString() {
            return reference;
        }
    }

    private static Map<String, Object> document(GatewayConfig config) {
        Map<String, Object> document = ConfigDocument.values(config);
        config.references().replaceIn(document, ReferencedValue::new);
        return document;
    }

    /** Whether the two configurations are equal. */
    public boolean isEmpty() {
        return changes.isEmpty() && needRestart.isEmpty();
    }

    private static void named(String kind, @Nullable Object before, @Nullable Object after, List<String> to) {
        Map<?, ?> old = entries(before);
        Map<?, ?> recent = entries(after);
        Set<Object> names = new TreeSet<>(old.keySet());
        names.addAll(recent.keySet());
        for (Object name : names) {
            String what = kind + " '" + name + "'";
            if (!recent.containsKey(name)) {
                to.add(what + ": removed");
            } else if (!old.containsKey(name)) {
                to.add(what + ": added");
            } else {
                compare(what, old.get(name), recent.get(name), to);
            }
        }
    }

    private static void compare(String what, @Nullable Object before, @Nullable Object after, List<String> to) {
        if (!(before instanceof Map) || !(after instanceof Map)) {
            int told = to.size();
            Map<Object, Object> old = labelled(before);
            Map<Object, Object> recent = labelled(after);
            if (!old.isEmpty() && !recent.isEmpty()) {
                named(what + ":", old, recent, to);
            }
            if (to.size() == told && !Objects.equals(plain(before), plain(after))) {
                String from = shown(before);
                String next = shown(after);
                to.add(what + ": " + from + (from.equals(next) ? ": another value" : " -> " + next));
            }
            return;
        }
        Set<Object> keys = new LinkedHashSet<>(entries(before).keySet());
        keys.addAll(entries(after).keySet());
        for (Object key : keys) {
            compare(what + ": " + key, entries(before).get(key), entries(after).get(key), to);
        }
    }

    /** The sections of a list by name, or by host and port; empty if not all have one of their own. */
    private static Map<Object, Object> labelled(@Nullable Object value) {
        Map<Object, Object> sections = new LinkedHashMap<>();
        for (Object each : value instanceof List<?> list ? list : List.of()) {
            Map<?, ?> section = entries(each);
            String label = label(section, section.containsKey("name") ? List.of("name") : List.of("host", "port"));
            if (label == null || sections.put(label, section) != null) {
                return Map.of();
            }
        }
        return sections;
    }

    /** The values of these keys; null if one is absent or came from a reference. */
    private static @Nullable String label(Map<?, ?> section, List<String> keys) {
        List<String> parts = new ArrayList<>();
        for (String key : keys) {
            Object value = section.get(key);
            if (value == null || value instanceof ReferencedValue) {
                return null;
            }
            parts.add(value.toString());
        }
        return String.join(":", parts);
    }

    /** With values in place of references. */
    private static @Nullable Object plain(@Nullable Object value) {
        return switch (value) {
            case ReferencedValue referenced -> referenced.value();
            case List<?> list -> list.stream().map(ConfigDiff::plain).toList();
            case Map<?, ?> map -> {
                Map<Object, Object> all = new LinkedHashMap<>();
                map.forEach((key, each) -> all.put(key, Objects.requireNonNull(plain(each))));
                yield all;
            }
            case null, default -> value;
        };
    }

    private static Map<?, ?> entries(@Nullable Object section) {
        return section instanceof Map<?, ?> map ? map : Map.of();
    }

    private static String shown(@Nullable Object value) {
        return switch (value) {
            case null -> "none";
            case Map<?, ?> map -> inline(map);
            case List<?> list -> {
                List<String> items = new ArrayList<>();
                list.forEach(each -> items.add(shown(each)));
                yield "[" + String.join(", ", items) + "]";
            }
            default -> value.toString();
        };
    }

    private static String inline(Map<?, ?> map) {
        List<String> items = new ArrayList<>();
        map.forEach((key, value) -> items.add(key + ": " + shown(value)));
        return "{" + String.join(", ", items) + "}";
    }
}
