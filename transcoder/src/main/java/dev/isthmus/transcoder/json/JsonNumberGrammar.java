package dev.isthmus.transcoder.json;

import dev.isthmus.transcoder.json.JsonTokenizer.JsonException;
import dev.isthmus.transcoder.number.JsonNumbers;

/** The grammar of a JSON number: a minus, an integer without leading zeros, a fraction, an exponent (RFC 8259, 6). */
final class JsonNumberGrammar {
    private JsonNumberGrammar() {}

    static boolean isPart(byte c) {
        return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
    }

    /** That what is between {@code from} and {@code to} is a number, in a window that goes on until {@code end}. */
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
            throw new JsonException("'" + JsonNumbers.shown(window, from, to) + "' is no number");
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
                            ? "a value is expected, got " + JsonTokenizer.shown(window[from])
                            : "a number is not complete");
        }
        return i;
    }
}
