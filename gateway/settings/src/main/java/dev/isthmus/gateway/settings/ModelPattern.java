package dev.isthmus.gateway.settings;

import java.util.Comparator;
import java.util.List;

/**
 * A model name in the configuration with wildcards: {@code *} matches any text. Ordered by precedence: more literal
 * characters first, then alphabetically.
 *
 * @param text as configured
 * @param parts between the wildcards
 * @param literals how many characters those have together
 */
public record ModelPattern(String text, List<String> parts, int literals) implements Comparable<ModelPattern> {
    private static final Comparator<ModelPattern> ORDER =
            Comparator.comparingInt((ModelPattern p) -> -p.literals).thenComparing(p -> p.text);

    public ModelPattern {
        if (!is(text)) {
            throw new IllegalArgumentException("'" + text + "' is not a pattern: it has no *");
        }
        parts = List.copyOf(parts);
    }

    /** @param text with a {@code *} in it */
    public ModelPattern(String text) {
        this(text, List.of(text.split("\\*", -1)), text.replace("*", "").length());
    }

    /** Whether a name is a pattern. */
    public static boolean is(String name) {
        return name.indexOf('*') >= 0;
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
    public String toString() {
        return text;
    }
}
