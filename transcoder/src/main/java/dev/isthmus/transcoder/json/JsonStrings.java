package dev.isthmus.transcoder.json;

import dev.isthmus.transcoder.json.JsonTokenizer.JsonException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/**
 * Finds where a JSON string ends, and gives its bytes. A string whose end has not come yet is not looked through again. One
 * instance reads one string at a time.
 */
final class JsonStrings {
    private boolean escaped;
    /** How much of a string whose end has not come was looked through; 0 for none. */
    private int scanned;

    /** Where the closing quote of the string is whose opening quote is at {@code from}; -1 when it has not come. */
    int close(byte[] window, int from, int end) {
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

    int scanned() {
        return scanned;
    }

    /** Whether the string found last, between these indices, has more bytes than that. */
    boolean exceeds(int limit, byte[] window, int from, int to) {
        return to - from > limit
                && (!escaped || JsonEscapes.unescape(window, from, to).remaining() > limit);
    }

    /** The UTF-8 bytes, checked, of the string found last, which is between these indices; a view where it can be. */
    ByteBuffer utf8(byte[] window, int from, int to) {
        ByteBuffer bytes = escaped ? JsonEscapes.unescape(window, from, to) : ByteBuffer.wrap(window, from, to - from);
        if (!isAscii(bytes)) {
            try {
                StandardCharsets.UTF_8.newDecoder().decode(bytes.duplicate());
            } catch (CharacterCodingException e) {
                throw new JsonException("a string is not UTF-8");
            }
        }
        return bytes;
    }

    private static boolean isAscii(ByteBuffer bytes) {
        for (int i = bytes.position(); i < bytes.limit(); i++) {
            if (bytes.get(i) < 0) {
                return false;
            }
        }
        return true;
    }
}
