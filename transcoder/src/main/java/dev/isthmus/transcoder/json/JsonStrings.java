package dev.isthmus.transcoder.json;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CoderResult;
import java.nio.charset.StandardCharsets;

/**
 * Finds the end of a JSON string and returns its bytes. The scanned part of an incomplete string is not scanned again.
 * One instance reads one string at a time.
 */
final class JsonStrings {
    /** Characters. */
    private static final int STEP = 1024;

    private boolean escaped;
    /** Bytes of the incomplete string that were scanned; 0 for none. */
    private int scanned;

    /** Another document begins. */
    void begin() {
        scanned = 0;
    }

    /**
     * The index of the closing quote of the string whose opening quote is at {@code from}; -1 if it has not been
     * received yet.
     *
     * @param limit of the string's length, in bytes
     * @param last whether the document ends at {@code end}
     */
    int close(byte[] window, int from, int end, int limit, boolean last) {
        int close = close(window, from, end);
        // An escape of six bytes stands for at least one byte.
        if (close < 0 ? scanned > 6L * limit + 2 : exceeds(limit, window, from + 1, close)) {
            throw new JsonException("a string has more than " + limit + " bytes");
        }
        if (close < 0 && last) {
            throw new JsonException("the document ends within a string");
        }
        return close;
    }

    private int close(byte[] window, int from, int end) {
        int i = from + Math.max(1, scanned);
        boolean backslash = scanned > 0 && escaped;
        while (i < end) {
            byte c = window[i];
            if (c == '"') {
                escaped = backslash;
                scanned = 0;
                return i;
            }
            if (c == '\\') {
                backslash = true;
                if (i + 1 >= end) {
                    break;
                }
                i++;
            } else if (c >= 0 && c < 0x20) {
                throw new JsonException("a control character in a string must be escaped");
            }
            i++;
        }
        escaped = backslash;
        scanned = i - from;
        return -1;
    }

    /** Whether the last string found, between these indices, is longer than the limit. */
    private boolean exceeds(int limit, byte[] window, int from, int to) {
        return to - from > limit
                && (!escaped || JsonEscapes.unescape(window, from, to).remaining() > limit);
    }

    /**
     * The validated UTF-8 bytes of the last string found, which is between these indices; a view if it has no escapes.
     */
    ByteBuffer utf8(byte[] window, int from, int to) {
        ByteBuffer bytes = escaped ? JsonEscapes.unescape(window, from, to) : ByteBuffer.wrap(window, from, to - from);
        if (!isAscii(bytes.array(), bytes.position(), bytes.limit())) {
            requireUtf8(bytes.duplicate());
        }
        return bytes;
    }

    /** In steps: the characters of a whole string would take twice its memory. */
    private static void requireUtf8(ByteBuffer bytes) {
        CharsetDecoder decoder = StandardCharsets.UTF_8.newDecoder();
        CharBuffer step = CharBuffer.allocate(Math.min(STEP, bytes.remaining()));
        CoderResult result;
        do {
            result = decoder.decode(bytes, step.clear(), true);
        } while (result.isOverflow());
        if (result.isError()) {
            throw new JsonException("a string is not UTF-8");
        }
    }

    /** Whether the last string found, between these indices, is ASCII without escapes. */
    boolean isPlain(byte[] window, int from, int to) {
        return !escaped && isAscii(window, from, to);
    }

    private static boolean isAscii(byte[] bytes, int from, int to) {
        for (int i = from; i < to; i++) {
            if (bytes[i] < 0) {
                return false;
            }
        }
        return true;
    }
}
