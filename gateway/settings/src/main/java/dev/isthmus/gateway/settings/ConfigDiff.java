package dev.isthmus.gateway.settings;

import dev.isthmus.gateway.settings.ValueShape.Section;
import java.util.ArrayList;
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
 * @param restarts what a reload begins anew, such as ramps and connections
 */
public record ConfigDiff(List<String> changes, List<String> needRestart, List<String> restarts) {
    private static final Set<String> AT_START = Set.of("admin", "ramps", "shared");
    private static final Set<String> BY_NAME = Set.of("upstreams", "models");

    public ConfigDiff {
        changes = List.copyOf(changes);
        needRestart = List.copyOf(needRestart);
        restarts = List.copyOf(restarts);
    }

    /** The changes from {@code before} to {@code after}. */
    public static ConfigDiff of(GatewayConfig before, GatewayConfig after) {
        Section all = new Section(GatewayConfig.class);
        Map<?, ?> old = (Map<?, ?>) all.written(before);
        Map<?, ?> recent = (Map<?, ?>) all.written(after);
        List<String> changes = new ArrayList<>();
        List<String> needRestart = new ArrayList<>();
        for (ConfigKey key : all.keys()) {
            String name = key.name();
            List<String> to = AT_START.contains(name) ? needRestart : changes;
            if (BY_NAME.contains(name)) {
                named(name.substring(0, name.length() - 1), old.get(name), recent.get(name), to);
            } else {
                compare(name, old.get(name), recent.get(name), to);
            }
        }
        return new ConfigDiff(changes, needRestart, ConfigRestarts.of(before, after));
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
        if (Objects.equals(before, after)) {
            return;
        }
        if (!(before instanceof Map) || !(after instanceof Map)) {
            to.add(what + ": " + shown(before) + " -> " + shown(after));
            return;
        }
        Set<Object> keys = new LinkedHashSet<>(entries(before).keySet());
        keys.addAll(entries(after).keySet());
        for (Object key : keys) {
            compare(what + ": " + key, entries(before).get(key), entries(after).get(key), to);
        }
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
