package dev.isthmus.gateway.dispatch;

import io.netty.util.ByteProcessor;

/**
 * Recognizes server-sent error events, <code>data: {"error": …}</code> in one line, by their start. Processes the bytes
 * of a stream in any number of parts, up to the end of the start of an error.
 */
final class ErrorEventPrefix implements ByteProcessor {
    /** The start of such a line; {@code ~} stands for any whitespace. */
    private static final String PREFIX = "data:~{~\"error\"";

    private static final int OTHER_LINE = -1;
    /** Length of the prefix that the line has matched so far; its whole length for the rest of the line. */
    private int matched;

    static boolean endsLine(byte octet) {
        return octet == '\n' || octet == '\r';
    }

    /** Whether the current line is an error. */
    boolean isMatched() {
        return matched == PREFIX.length();
    }

    /** @return whether the line is not known to be an error */
    @Override
    public boolean process(byte octet) {
        matched = endsLine(octet) ? 0 : isMatched() ? matched : matched(octet);
        return !isMatched();
    }

    private int matched(byte octet) {
        int at = matched;
        if (at == OTHER_LINE) {
            return at;
        }
        if (PREFIX.charAt(at) == '~') {
            if (octet == ' ' || octet == '\t') {
                return at;
            }
            at++;
        }
        return PREFIX.charAt(at) == octet ? at + 1 : OTHER_LINE;
    }
}
