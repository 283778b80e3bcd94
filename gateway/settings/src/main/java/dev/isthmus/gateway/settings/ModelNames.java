package dev.isthmus.gateway.settings;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Maps a model's name to an entry of the configured models: the entry with exactly this name, then the one with this
 * alias, then the first {@link ModelPattern} that matches. Immutable.
 */
public final class ModelNames {
    /** How a name was found. */
    public enum MatchKind {
        NAME,
        ALIAS,
        PATTERN
    }

    /**
     * The entry for a name.
     *
     * @param key of the entry in {@code models}
     */
    public record Match(String key, MatchKind by) {}

    private final Map<String, Match> exact;
    private final List<ModelPattern> patterns;

    public ModelNames(Map<String, ModelConfig> models) {
        Map<String, Match> names = new HashMap<>();
        new TreeMap<>(models)
                .forEach((key, model) ->
                        model.aliases().forEach(alias -> names.putIfAbsent(alias, new Match(key, MatchKind.ALIAS))));
        for (String key : models.keySet()) {
            if (!ModelPattern.is(key)) {
                names.put(key, new Match(key, MatchKind.NAME));
            }
        }
        this.exact = Map.copyOf(names);
        this.patterns = models.keySet().stream()
                .filter(ModelPattern::is)
                .map(ModelPattern::new)
                .sorted()
                .toList();
    }

    /** The entry for this name; empty if there is none. */
    public Optional<Match> find(String name) {
        Match found = exact.get(name);
        return found == null ? matching(name) : Optional.of(found);
    }

    /** The entries by configured names and aliases, without patterns. */
    public Map<String, Match> exact() {
        return exact;
    }

    /** Whether there are patterns. */
    public boolean hasPatterns() {
        return !patterns.isEmpty();
    }

    /** The first pattern that matches a name, for names not among the {@link #exact} ones. */
    public Optional<Match> matching(String name) {
        return patterns.stream()
                .filter(pattern -> pattern.matches(name))
                .findFirst()
                .map(pattern -> new Match(pattern.text(), MatchKind.PATTERN));
    }
}
