package dev.isthmus.gateway.settings;

import java.util.Comparator;
import java.util.List;

/**
 * A model's name in the configuration with {@code *} in it, each of which stands for any text. Sorted as patterns are tried:
 * more literal characters first, then alphabetically.
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
            throw new IllegalArgumentException("'" + text + "' is no pattern: it has no *");
        }
        this.text = text;
        this.parts = List.of(text.split("\\*", -1));
        this.literals = parts.stream().mapToInt(String::length).sum();
    }

    /** Whether a name is a pattern. */
    public static boolean is(String name) {
        return name.indexOf('*') >= 0;
    }

    /** The pattern as it was written. */
    public String text() {
        return text;
    }

    /** Whether it holds for all of the name. Each part is looked for once, so that long names are no burden. */
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
