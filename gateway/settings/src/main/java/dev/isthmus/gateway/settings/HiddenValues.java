package dev.isthmus.gateway.settings;

import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Values that sentences do not show, each with the reference that stands in its place. Thread-safe. */
final class HiddenValues {
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
                .replaceAll(found -> Matcher.quoteReplacement(references.getOrDefault(found.group(), found.group())));
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
