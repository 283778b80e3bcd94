package dev.isthmus.transcoder.json;

import dev.isthmus.transcoder.number.JsonNumbers;

/** The grammar of a JSON number: a minus, an integer without leading zeros, a fraction, an exponent (RFC 8259, 6). */
final class JsonNumberGrammar {
    private JsonNumberGrammar() {}

    static boolean isPart(byte c) {
        return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
    }

    /** Requires that the bytes from {@code from} to {@code to} are a number; the window has data up to {@code end}. */
    static void require(byte[] window, int from, int to, int end) {
        int i = from;
        if (i < to && window[i] == '-') {
            i++;
        }
        if (i < to && window[i] == '0') {
            i++;
        } else {
            i = digits(window, i, to, end);
        }
        if (i < to && window[i] == '.') {
            i = digits(window, i + 1, to, end);
        }
        if (i < to && (window[i] | 0x20) == 'e') {
            i++;
            if (i < to && (window[i] == '+' || window[i] == '-')) {
                i++;
            }
            i = digits(window, i, to, end);
        }
        if (i < to) {
            throw new JsonException("'" + JsonNumbers.shown(window, from, to) + "' is not a number");
        }
    }

    private static int digits(byte[] window, int from, int to, int end) {
        int i = from;
        while (i < to && window[i] >= '0' && window[i] <= '9') {
            i++;
        }
        if (i == from) {
            throw new JsonException(
                    from < end
                            ? "a value is expected, got " + JsonException.shown(window[from])
                            : "a number is incomplete");
        }
        return i;
    }
}
