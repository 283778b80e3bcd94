package dev.isthmus.gateway.config;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Which entry of the configured models takes a name: the one of exactly this name, then the one that has it as an alias, then
 * the patterns that match it, those with more literal characters first, equal ones in the alphabet's order. In a pattern each
 * {@code *} stands for any characters or none. Immutable.
 */
public final class ModelNames {
    /** How a name was found. */
    public enum By {
        NAME,
        ALIAS,
        PATTERN
    }

    /**
     * What takes a name.
     *
     * @param key of the entry among the models
     */
    public record Match(String key, By by) {}

    private final Map<String, Match> exact = new HashMap<>();
    private final List<String> patterns = new ArrayList<>();

    public ModelNames(Map<String, ModelConfig> models) {
        models.forEach((key, model) ->
                model.aliases().forEach(alias -> exact.putIfAbsent(alias, new Match(key, By.ALIAS))));
        for (String key : models.keySet()) {
            if (isPattern(key)) {
                patterns.add(key);
            } else {
                exact.put(key, new Match(key, By.NAME));
            }
        }
        patterns.sort(
                Comparator.comparingInt(ModelNames::literals).reversed().thenComparing(Comparator.naturalOrder()));
    }

    /** The entry that takes this name; empty where none does. */
    public Optional<Match> find(String name) {
        Match found = exact.get(name);
        if (found != null) {
            return Optional.of(found);
        }
        return patterns.stream()
                .filter(pattern -> matches(pattern, name))
                .findFirst()
                .map(pattern -> new Match(pattern, By.PATTERN));
    }

    /** Whether a key of the models stands for many. */
    public static boolean isPattern(String key) {
        return key.indexOf('*') >= 0;
    }

    private static int literals(String pattern) {
        return (int) pattern.chars().filter(each -> each != '*').count();
    }

    /** Takes the pattern's parts one after the other, each at its first place. */
    static boolean matches(String pattern, String name) {
        String[] parts = pattern.split("\\*", -1);
        String first = parts[0];
        String last = parts[parts.length - 1];
        if (parts.length == 1) {
            return pattern.equals(name);
        }
        if (name.length() < first.length() + last.length() || !name.startsWith(first) || !name.endsWith(last)) {
            return false;
        }
        int at = first.length();
        int end = name.length() - last.length();
        for (int i = 1; i < parts.length - 1; i++) {
            int found = name.indexOf(parts[i], at);
            if (found < 0 || found + parts[i].length() > end) {
                return false;
            }
            at = found + parts[i].length();
        }
        return true;
    }
}
