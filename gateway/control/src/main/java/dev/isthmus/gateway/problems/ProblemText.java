package dev.isthmus.gateway.problems;

import dev.isthmus.oip.ErrorCode;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** What the texts of problems consist of. */
final class ProblemText {
    /** How many names a text lists. */
    private static final int NAMES = 5;

    /** How many phrases. */
    private static final int PHRASES = 3;

    private static final double TENTH = 0.001;

    private ProblemText() {}

    /** A share in percent: 48 %, 0.4 %, less than 0.1 %. */
    static String percent(double share) {
        if (share > 0 && share < TENTH) {
            return "less than 0.1 %";
        }
        String format = share >= 0.1 || share == 0 ? "%.0f %%" : "%.1f %%";
        return String.format(Locale.ROOT, format, 100 * share);
    }

    /** 0.4 ms, 12 ms, 3,210 ms. */
    static String millis(double seconds) {
        double millis = 1000 * seconds;
        return String.format(Locale.ROOT, millis < 10 ? "%.1f ms" : "%,.0f ms", millis);
    }

    /** 1 call, 2 calls. */
    static String plural(long count, String noun) {
        return String.format(Locale.ROOT, "%,d %s%s", count, noun, count == 1 ? "" : "s");
    }

    /** The first names, and how many more there are. */
    static String names(List<String> names) {
        String first = names.stream().limit(NAMES).map(name -> "'" + name + "'").collect(Collectors.joining(", "));
        return names.size() <= NAMES ? first : first + " and " + (names.size() - NAMES) + " more";
    }

    /** The first of several phrases, and how many more there are. */
    static String first(List<String> phrases) {
        String first = phrases.stream().limit(PHRASES).collect(Collectors.joining("; "));
        return phrases.size() <= PHRASES ? first : first + "; " + (phrases.size() - PHRASES) + " more";
    }

    /** UNAVAILABLE (503). */
    static String error(ErrorCode code) {
        return code.name() + " (" + code.httpStatus() + ")";
    }

    /** One argument of a shell command. */
    static String argument(String text) {
        return text.matches("[A-Za-z0-9_./:@=-]+") ? text : "'" + text.replace("'", "'\\''") + "'";
    }

    /** A page of the console with the values of its fields. */
    static String page(String id, String... fields) {
        StringBuilder page = new StringBuilder(id);
        for (int i = 0; i < fields.length; i += 2) {
            page.append(i == 0 ? '?' : '&')
                    .append(fields[i])
                    .append('=')
                    .append(URLEncoder.encode(fields[i + 1], StandardCharsets.UTF_8));
        }
        return page.toString();
    }
}
