package dev.isthmus.gateway.dispatch;

import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What a server says about a client's mistake, without what it tells of the server: addresses, URLs, host names, file
 * paths, upstreams and stack traces. One line of bounded length.
 *
 * @param text empty if nothing is left to show
 * @param redacted whether something is missing, other than line breaks
 */
record RedactedText(String text, boolean redacted) {
    /** Longer texts are not read to their end, in characters. */
    private static final int MAX_READ = 2000;

    private static final int MAX_SHOWN = 1000;

    private static final String CUT = "...";

    /** Line breaks, control and formatting characters, halves of surrogate pairs. */
    private static final Pattern UNPRINTABLE = Pattern.compile("[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}\\p{Cs}]+");

    private static final Pattern NO_WORD = Pattern.compile("[^\\p{L}]*");

    /** The start of a stack trace, as it looks in one line; nothing behind it is shown. */
    private static final Pattern TRACE = Pattern.compile(
            // Python, pybind11
            "Traceback \\(most recent call|\\(most recent call (?:first|last)\\)"
                    + "|\\bFile [\"'][^\"']*[\"'], line \\d|\\bAt: +\\S+\\(\\d+\\):"
                    // Java, .NET, JavaScript
                    + "|\\bat [\\w.$<>/]++\\((?:\\w+\\.(?:java|kt|scala|groovy|clj):\\d+|Native Method|Unknown Source)\\)"
                    + "|\\bat [\\w.`$<>\\[\\]]++\\([^()]*+\\) in \\S+:line \\d"
                    + "|\\bat [\\w.$<> ]{1,80}+ ?\\(\\S+:\\d+:\\d+\\)|\\bCaused by: "
                    // Go, Rust, C++
                    + "|\\bgoroutine \\d+ \\[|\\bpanicked at |\\bframe #\\d+:|#\\d+:? +0x[0-9a-fA-F]|Exception raised from "
                    + "|(?i:\\b(?:stack ?trace|(?:stack )?backtrace) ?:)");

    private static final String OCTET = "(?:25[0-5]|2[0-4]\\d|1?\\d?\\d)";
    private static final String LABEL = "[A-Za-z0-9_][\\w-]*+";

    /** What is replaced, in this order: a URL has a host, a host may look like a file. */
    private static final List<Replacement> REPLACEMENTS = List.of(
            new Replacement("\\b[A-Za-z][A-Za-z0-9+.-]{1,30}://[^\\s'\"<>]*+", "[url]"),
            new Replacement("\\bupstream '[^']*+'", "upstream [name]"),
            // Paths: in quotes they may have spaces.
            new Replacement("(?<=')/[^'/][^']*+(?=')|(?<=\")/[^\"/][^\"]*+(?=\")", "[path]"),
            new Replacement(
                    "(?<![\\w\\\\])[A-Za-z]:\\\\(?:[^\\s\\\\'\"<>|]++(?: [^\\s\\\\'\"<>|]++)*+\\\\)*+[^\\s'\"<>|]*+"
                            + "|(?<!\\w)[A-Za-z]:/[\\w.~-][^\\s'\"<>|]*+|\\\\\\\\[\\w.$-]++\\\\[^\\s'\"<>|]++",
                    "[path]"),
            new Replacement("(?<![\\w/<)\\]])(?:~|\\.{1,2})?/[\\w.~@%+-][^\\s'\"`,;()\\[\\]{}<>|]*+", "[path]"),
            new Replacement("(?i)(?:%2F[\\w.~-]++){2,}+", "[path]"),
            new Replacement(
                    "(?<![\\w./-])(?!(?:application|text|image|audio|video|multipart)/)"
                            + "[\\w.-]++(?:/[\\w.-]++)++(?<=\\.[A-Za-z]\\w{0,7}\\.{0,3})(?::\\d+)*+",
                    "[path]"),
            // Addresses.
            new Replacement("\\[(?=[^\\]\\s]*:[^\\]\\s]*:)[0-9A-Fa-f:.]++(?:%\\w++)?\\](?::\\d{1,5})?", "[address]"),
            new Replacement("(?i)%5B[0-9A-F:.]++%5D(?::\\d{1,5})?", "[address]"),
            new Replacement(
                    "(?<![\\d.])(?:" + OCTET + "\\.){3}" + OCTET + "(?!\\d)(?::\\d{1,5})?(?:/\\d{1,2}(?!\\d))?",
                    "[address]"),
            new Replacement(
                    "(?<![\\w:.])(?:(?:[0-9A-Fa-f]{1,4}:){7}[0-9A-Fa-f]{1,4}"
                            + "|(?:[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{1,4}){0,6})?::[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{1,4}){0,6}"
                            + "|[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{1,4}){0,6}::)(?:%\\w++)?(?![\\w:])",
                    "[address]"),
            new Replacement(
                    "(?<![\\w.-])(?:localhost:\\d{1,5}|(?=[\\w.-]*[A-Za-z])(?:" + LABEL + "\\.)+" + LABEL + ":\\d{2,5}"
                            + "|[A-Za-z][\\w-]*+:(?:80|443|\\d{4,5}))(?!\\d)",
                    "[address]"),
            new Replacement("\\b0x[0-9A-Fa-f]{6,16}\\b", "[address]"),
            // Hosts.
            new Replacement(
                    "(?<![\\w.-])(?:(?:" + LABEL
                            + "\\.)+(?:internal|local|localdomain|lan|corp|intranet|home|arpa|com|net" + "|org|cloud)|"
                            + LABEL + "\\." + LABEL + "\\.svc|localhost|ip(?:-\\d{1,3}){4})(?![\\w-])",
                    "[host]"));

    private record Replacement(Pattern pattern, String placeholder) {
        Replacement(String pattern, String placeholder) {
            this(Pattern.compile(pattern), Matcher.quoteReplacement(placeholder));
        }

        String in(String text) {
            return pattern.matcher(text).replaceAll(placeholder);
        }
    }

    /** What may be shown of a server's text. */
    static RedactedText of(String message) {
        String line = UNPRINTABLE.matcher(message).replaceAll(" ");
        String shown = untraced(bounded(line, MAX_READ));
        for (Replacement replacement : REPLACEMENTS) {
            shown = replacement.in(shown);
        }
        shown = bounded(shown, MAX_SHOWN);
        return new RedactedText(NO_WORD.matcher(shown).matches() ? "" : shown, !shown.equals(line));
    }

    /** Cuts before the last word that would be incomplete, because half an address is not recognized as one. */
    private static String bounded(String text, int max) {
        if (text.length() <= max) {
            return text;
        }
        int space = text.lastIndexOf(' ', max);
        return space < 0 ? "" : text.substring(0, space).stripTrailing() + CUT;
    }

    private static String untraced(String line) {
        Matcher trace = TRACE.matcher(line);
        return trace.find() ? line.substring(0, trace.start()).stripTrailing() : line;
    }

    /** The text with another name of the model, where the name is a word of its own. */
    static String renamed(String text, String there, String requested) {
        if (there.isEmpty() || there.equals(requested) || !text.contains(there)) {
            return text;
        }
        String word = "(?<![\\p{L}\\p{N}_])" + Pattern.quote(there) + "(?![\\p{L}\\p{N}_])";
        return Pattern.compile(word).matcher(text).replaceAll(Matcher.quoteReplacement(requested));
    }
}
