package dev.isthmus.gateway.settings;

import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.BiFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The references that values of a configuration came from: {@code ${NAME}} and {@code ${file:PATH}}. Wherever a
 * configuration is shown, the reference stands in place of its value. Thread-safe.
 */
public final class ValueReferences {
    public static final ValueReferences NONE = new ValueReferences(Map.of(), new HiddenValues());

    /** By the path in the form of {@link GatewayConfig#document}: keys, and indexes of lists. */
    private final Map<List<String>, ValueReference> byPath;

    private final HiddenValues hidden;

    /**
     * A value that came from references.
     *
     * @param text the value as it stands in the file
     * @param value in the form of {@link GatewayConfig#document}
     */
    record ValueReference(String text, Object value) {}

    ValueReferences(Map<List<String>, ValueReference> byPath, HiddenValues hidden) {
        this.byPath = Map.copyOf(byPath);
        this.hidden = hidden;
    }

    /** The texts of references by path, with the values there: the record of a layer may have changed those. */
    static ValueReferences of(Map<List<String>, String> texts, Map<String, Object> document, HiddenValues hidden) {
        Map<List<String>, ValueReference> byPath = new HashMap<>();
        texts.forEach((path, text) ->
                byPath.put(path, new ValueReference(text, Objects.requireNonNullElse(at(document, path), ""))));
        return new ValueReferences(byPath, hidden);
    }

    /** A sentence about the configuration, with references in place of values of at least four characters. */
    public String masked(String sentence) {
        return hidden.masked(sentence);
    }

    /** A copy for a configuration in which a section has been copied to another place. */
    public ValueReferences copied(List<String> from, List<String> to) {
        Map<List<String>, ValueReference> all = new HashMap<>(byPath);
        byPath.forEach((path, reference) -> {
            if (path.size() > from.size() && path.subList(0, from.size()).equals(from)) {
                Stream<String> copy = Stream.concat(to.stream(), path.stream().skip(from.size()));
                all.put(copy.toList(), reference);
            }
        });
        return new ValueReferences(all, hidden);
    }

    /** A copy with these sections of another one. */
    ValueReferences withThose(ValueReferences other, Set<String> sections) {
        Map<List<String>, ValueReference> all = new HashMap<>(byPath);
        all.keySet().removeIf(path -> sections.contains(path.getFirst()));
        Map<List<String>, ValueReference> those = new HashMap<>(other.byPath);
        those.keySet().removeIf(path -> !sections.contains(path.getFirst()));
        all.putAll(those);
        HiddenValues both = new HiddenValues();
        both.addAll(hidden);
        both.addAll(other.hidden);
        return new ValueReferences(all, both);
    }

    /**
     * Replaces the values in a document.
     *
     * @param shown what stands in place of a value and its reference
     */
    void replaceIn(Map<String, Object> document, BiFunction<Object, String, Object> shown) {
        byPath.forEach((path, reference) -> {
            Object parent = at(document, path.subList(0, path.size() - 1));
            Object value = member(parent, path.getLast());
            // Another one, if the command line or discovery has replaced it.
            if (reference.value().equals(value)) {
                put(parent, path.getLast(), shown.apply(reference.value(), reference.text()));
            }
        });
    }

    /** The part of a document at a path; null if there is none. */
    static @Nullable Object at(Object document, List<String> path) {
        Object part = document;
        for (String key : path) {
            part = member(part, key);
        }
        return part;
    }

    private static @Nullable Object member(@Nullable Object parent, String key) {
        return switch (parent) {
            case Map<?, ?> map -> map.get(key);
            case List<?> list -> {
                int index = Integer.parseInt(key);
                yield index < list.size() ? list.get(index) : null;
            }
            case null, default -> null;
        };
    }

    @SuppressWarnings("unchecked")
    private static void put(@Nullable Object parent, String key, Object value) {
        switch (parent) {
            case Map<?, ?> map -> ((Map<String, Object>) map).put(key, value);
            case List<?> list -> ((List<Object>) list).set(Integer.parseInt(key), value);
            case null, default -> throw new IllegalStateException("a value without a section: " + key);
        }
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof ValueReferences references && byPath.equals(references.byPath);
    }

    @Override
    public int hashCode() {
        return byPath.hashCode();
    }

    /** Values that sentences do not show, each with the reference that stands in its place. Thread-safe. */
    static final class HiddenValues {
        /** A shorter value is no secret, and stands in any sentence by chance. */
        private static final int SHORTEST = 4;
        /** A shorter value is replaced only where it is a word. */
        private static final int UNMISTAKABLE = 8;

        private final Map<String, String> references = new HashMap<>();
        /** Null if a value was added since it was made. */
        private @Nullable Pattern pattern;

        synchronized void add(String value, String reference) {
            if (value.length() >= SHORTEST) {
                references.putIfAbsent(value, reference);
                pattern = null;
            }
        }

        void addAll(HiddenValues others) {
            Map<String, String> added;
            synchronized (others) {
                added = Map.copyOf(others.references);
            }
            added.forEach(this::add);
        }

        /** The text with references in place of the values. */
        synchronized String masked(String text) {
            if (references.isEmpty()) {
                return text;
            }
            if (pattern == null) {
                pattern = pattern();
            }
            return pattern.matcher(text)
                    .replaceAll(
                            found -> Matcher.quoteReplacement(references.getOrDefault(found.group(), found.group())));
        }

        private Pattern pattern() {
            // A reference that stands there already has its default, which may be the value.
            String values = Stream.concat(references.keySet().stream(), references.values().stream())
                    .distinct()
                    .sorted(Comparator.comparing(String::length).reversed())
                    .map(HiddenValues::pattern)
                    .collect(Collectors.joining("|"));
            return Pattern.compile(values);
        }

        private static String pattern(String value) {
            String quoted = Pattern.quote(value);
            return value.length() >= UNMISTAKABLE ? quoted : "(?<![\\p{L}\\p{N}_])" + quoted + "(?![\\p{L}\\p{N}_])";
        }
    }
}
