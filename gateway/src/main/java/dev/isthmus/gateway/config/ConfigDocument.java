package dev.isthmus.gateway.config;

import dev.isthmus.gateway.call.HeaderNames;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.RecordComponent;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A configuration as plain maps, lists, texts, numbers and booleans under the keys of the file, for people to read and to
 * compare. What is not configured and has no default is left out. There are no secrets in a configuration: it names their
 * files.
 */
public final class ConfigDocument {
    private static final Pattern INNER_CAPITAL = Pattern.compile("(?<=[a-z0-9])(?=[A-Z])");

    private ConfigDocument() {}

    /** All of a configuration, defaults included. */
    public static Map<String, Object> of(GatewayConfig config) {
        return members(config);
    }

    private static Map<String, Object> members(Record object) {
        Map<String, Object> members = new LinkedHashMap<>();
        for (RecordComponent component : object.getClass().getRecordComponents()) {
            Object value = read(object, component);
            if (value != null) {
                members.put(key(component), plain(value));
            }
        }
        return members;
    }

    private static @Nullable Object read(Record object, RecordComponent component) {
        try {
            return component.getAccessor().invoke(object);
        } catch (IllegalAccessException | InvocationTargetException e) {
            throw new IllegalStateException(component.getName() + " cannot be read", e);
        }
    }

    private static String key(RecordComponent component) {
        Doc doc = component.getAnnotation(Doc.class);
        return doc == null || doc.key().isEmpty()
                ? INNER_CAPITAL.matcher(component.getName()).replaceAll("_").toLowerCase(Locale.ROOT)
                : doc.key();
    }

    private static Object plain(Object value) {
        return switch (value) {
            case HeaderNames names ->
                Stream.concat(
                                names.exact().stream().sorted(),
                                names.prefixes().stream().map(each -> each + "*"))
                        .toList();
            case ServerAddress address -> address.toString();
            case Duration duration -> text(duration);
            case Path path -> path.toString();
            case Enum<?> constant -> constant.name().toLowerCase(Locale.ROOT);
            case Map<?, ?> map -> plain(map);
            case Collection<?> list -> list.stream().map(ConfigDocument::plain).toList();
            case Record object -> members(object);
            default -> value;
        };
    }

    private static Map<String, Object> plain(Map<?, ?> map) {
        Map<String, Object> sorted = new TreeMap<>();
        map.forEach((key, value) -> sorted.put(String.valueOf(key), plain(Objects.requireNonNull(value))));
        return sorted;
    }

    private static String text(Duration duration) {
        return duration.toMillis() % 1000 == 0 ? duration.toSeconds() + "s" : duration.toMillis() + "ms";
    }

    /**
     * What differs: a line for each key, such as {@code upstreams.triton.timeout: 60s -> 5s}.
     *
     * @param most lines; one more says that there are others
     */
    public static List<String> changes(GatewayConfig before, GatewayConfig after, int most) {
        List<String> all = new ArrayList<>();
        compare("", of(before), of(after), all);
        if (all.size() <= most) {
            return all;
        }
        List<String> first = new ArrayList<>(all.subList(0, most));
        first.add("and " + (all.size() - most) + " more");
        return first;
    }

    private static void compare(String key, @Nullable Object before, @Nullable Object after, List<String> changes) {
        if (Objects.equals(before, after)) {
            return;
        }
        if (before instanceof Map<?, ?> old && after instanceof Map<?, ?> fresh) {
            TreeSet<String> keys = new TreeSet<>();
            old.keySet().forEach(each -> keys.add(String.valueOf(each)));
            fresh.keySet().forEach(each -> keys.add(String.valueOf(each)));
            keys.forEach(
                    each -> compare(key.isEmpty() ? each : key + "." + each, old.get(each), fresh.get(each), changes));
        } else if (before == null) {
            changes.add(key + ": added");
        } else if (after == null) {
            changes.add(key + ": removed");
        } else {
            changes.add(key + ": " + before + " -> " + after);
        }
    }
}
