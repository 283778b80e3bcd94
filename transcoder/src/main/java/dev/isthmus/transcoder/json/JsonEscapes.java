package dev.isthmus.transcoder.json;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/** The escapes in a JSON string (RFC 8259, 7). */
final class JsonEscapes {
    private JsonEscapes() {}

    /** The bytes between these indices, unescaped. */
    static ByteBuffer unescape(byte[] window, int from, int to) {
        ByteBuffer out = ByteBuffer.allocate(to - from);
        int i = from;
        while (i < to) {
            byte c = window[i++];
            if (c != '\\') {
                out.put(c);
                continue;
            }
            byte kind = window[i++];
            switch (kind) {
                case '"', '\\', '/' -> out.put(kind);
                case 'b' -> out.put((byte) '\b');
                case 'f' -> out.put((byte) '\f');
                case 'n' -> out.put((byte) '\n');
                case 'r' -> out.put((byte) '\r');
                case 't' -> out.put((byte) '\t');
                case 'u' -> i = unicode(window, i, to, out);
                default -> throw new JsonException("a string has the unknown escape \\" + (char) (kind & 0xff));
            }
        }
        return out.flip();
    }

    private static int unicode(byte[] window, int from, int to, ByteBuffer out) {
        int unit = hex(window, from, to);
        int i = from + 4;
        int codePoint = unit;
        if (Character.isHighSurrogate((char) unit)) {
            boolean pair = i + 6 <= to && window[i] == '\\' && window[i + 1] == 'u';
            int low = pair ? hex(window, i + 2, to) : 0;
            if (!Character.isLowSurrogate((char) low)) {
                throw new JsonException("a string has an unpaired surrogate");
            }
            codePoint = Character.toCodePoint((char) unit, (char) low);
            i += 6;
        } else if (Character.isLowSurrogate((char) unit)) {
            throw new JsonException("a string has an unpaired surrogate");
        }
        out.put(Character.toString(codePoint).getBytes(StandardCharsets.UTF_8));
        return i;
    }

    private static int hex(byte[] window, int from, int to) {
        int value = 0;
        for (int i = from; i < from + 4; i++) {
            int digit = i < to ? Character.digit(window[i], 16) : -1;
            if (digit < 0) {
                throw new JsonException("a string has an incomplete \\u escape");
            }
            value = value << 4 | digit;
        }
        return value;
    }
}
