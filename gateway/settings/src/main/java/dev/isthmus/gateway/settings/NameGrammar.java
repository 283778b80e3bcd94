package dev.isthmus.gateway.settings;

import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;

/**
 * The grammar of names of models, versions, repositories and shared memory regions: one segment of a URL's path that
 * every server parses as the same segment. It is the same for both protocols, since a name from a gRPC client may be
 * sent to a REST server (docs/internals/decisions.md).
 */
public final class NameGrammar {
    /** The maximum length in bytes of UTF-8. */
    public static final int MAX_BYTES = 255;

    /** A regular expression (ECMA 262) for valid names, except that it does not count bytes. */
    public static final String PATTERN =
            "^(?!\\.{1,2}$)(?!.*%[0-9A-Fa-f]{2})" + "[^/\\\\\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]+$";

    private static final int SHOWN = 64;
    private static final String EXPECTED = "1 to " + MAX_BYTES
            + " bytes are expected, without '/', '\\', control characters and percent escapes, and not '.' or '..'";

    private NameGrammar() {}

    /**
     * Checks the name and version of a model in a request.
     *
     * @throws OipException INVALID_ARGUMENT if either is invalid
     */
    public static ModelRef checked(ModelRef model) {
        check("model name", model.name());
        if (!model.version().isEmpty()) {
            check("model version", model.version());
        }
        return model;
    }

    /**
     * Checks one name.
     *
     * @param what it names, for the message
     * @throws OipException INVALID_ARGUMENT if it is invalid
     */
    public static void check(String what, String name) {
        if (!holds(name)) {
            throw OipException.invalid(broken(what, name));
        }
    }

    /** The message for an invalid name. */
    public static String broken(String what, String name) {
        return what + " '" + shown(name) + "': " + EXPECTED;
    }

    /** Whether a name is valid. */
    public static boolean holds(String name) {
        int length = name.length();
        if (length == 0 || length > MAX_BYTES || name.equals(".") || name.equals("..")) {
            return false;
        }
        boolean ascii = true;
        for (int i = 0; i < length; i++) {
            char c = name.charAt(i);
            if (c < 0x20 || c == 0x7f || c == '/' || c == '\\' || (c == '%' && isEscape(name, i))) {
                return false;
            }
            ascii &= c < 0x80;
        }
        return ascii || holdsBeyondAscii(name);
    }

    /** Escapes are not allowed: a server or proxy that decodes a path twice would read a different name. */
    private static boolean isEscape(String name, int at) {
        return at + 2 < name.length()
                && HexFormat.isHexDigit(name.charAt(at + 1))
                && HexFormat.isHexDigit(name.charAt(at + 2));
    }

    private static boolean holdsBeyondAscii(String name) {
        return name.codePoints().noneMatch(NameGrammar::breaksLines)
                && name.getBytes(StandardCharsets.UTF_8).length <= MAX_BYTES;
    }

    private static boolean breaksLines(int codePoint) {
        return switch (Character.getType(codePoint)) {
            case Character.CONTROL, Character.LINE_SEPARATOR, Character.PARAGRAPH_SEPARATOR, Character.SURROGATE ->
                true;
            default -> false;
        };
    }

    /** A name, truncated and with unprintable characters as Unicode escapes. */
    private static String shown(String name) {
        StringBuilder shown = new StringBuilder();
        name.codePoints().limit(SHOWN).forEach(codePoint -> {
            if (breaksLines(codePoint)) {
                shown.append(String.format("\\u%04x", codePoint));
            } else {
                shown.appendCodePoint(codePoint);
            }
        });
        return name.codePointCount(0, name.length()) > SHOWN ? shown + "..." : shown.toString();
    }
}
