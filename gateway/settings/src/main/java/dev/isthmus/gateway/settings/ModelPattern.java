package dev.isthmus.gateway.settings;

import java.util.Comparator;
import java.util.List;

/**
 * A model name in the configuration with wildcards: {@code *} matches any text. Ordered by precedence: more literal
 * characters first, then alphabetically.
 */
public final class ModelPattern implements Comparable<ModelPattern> {
    private static final Comparator<ModelPattern> ORDER =
            Comparator.comparingInt((ModelPattern p) -> -p.literals).thenComparing(p -> p.text);

    private final String text;
    private final List<String> parts;
    private final int literals;

    /** @param text with a {@code *} in it */
    public ModelPattern(String text) {
        if (!is(text)) {
            throw new IllegalArgumentException("'" + text + "' is not a pattern: it has no *");
        }
        this.text = text;
        this.parts = List.of(text.split("\\*", -1));
        this.literals = parts.stream().mapToInt(String::length).sum();
    }

    /** Whether a name is a pattern. */
    public static boolean is(String name) {
        return name.indexOf('*') >= 0;
    }

    /** The pattern as configured. */
    public String text() {
        return text;
    }

    /** Whether it matches the whole name. Each part is searched once, without backtracking. */
    public boolean matches(String name) {
        String head = parts.getFirst();
        String tail = parts.getLast();
        if (name.length() < literals || !name.startsWith(head) || !name.endsWith(tail)) {
            return false;
        }
        int from = head.length();
        int end = name.length() - tail.length();
        for (String part : parts.subList(1, parts.size() - 1)) {
            int at = name.indexOf(part, from, end);
            if (at < 0) {
                return false;
            }
            from = at + part.length();
        }
        return true;
    }

    @Override
    public int compareTo(ModelPattern other) {
        return ORDER.compare(this, other);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof ModelPattern pattern && text.equals(pattern.text);
    }

    @Override
    public int hashCode() {
        return text.hashCode();
    }

    @Override
    public String toString() {
        return text;
    }
}
