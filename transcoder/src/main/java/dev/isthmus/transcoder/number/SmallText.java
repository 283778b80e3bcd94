package dev.isthmus.transcoder.number;

import dev.isthmus.oip.DataType;
import java.nio.charset.StandardCharsets;
import java.util.function.IntFunction;

/** The texts of all values of a one-byte datatype, each with a comma, as one long. */
final class SmallText {
    private static final int LENGTH = 56;

    private static final SmallText UNSIGNED = new SmallText(value -> Integer.toString(value));
    private static final SmallText SIGNED = new SmallText(value -> Integer.toString((byte) value));
    private static final SmallText BOOL = new SmallText(value -> Boolean.toString(value != 0));

    /** Seven bytes of text and, in the highest byte, its length. */
    private final long[] texts = new long[256];

    private SmallText(IntFunction<String> text) {
        for (int value = 0; value < texts.length; value++) {
            byte[] bytes = new byte[8];
            byte[] ascii = (text.apply(value) + ',').getBytes(StandardCharsets.US_ASCII);
            System.arraycopy(ascii, 0, bytes, 0, ascii.length);
            texts[value] = (long) ArrayView.LONGS.get(bytes, 0) | (long) ascii.length << LENGTH;
        }
    }

    /** @param type BOOL, INT8 or UINT8 */
    static SmallText of(DataType type) {
        return type == DataType.BOOL ? BOOL : type == DataType.INT8 ? SIGNED : UNSIGNED;
    }

    /** Writes elements, each followed by a comma; returns the length. Overwrites up to eight more bytes. */
    int write(byte[] raw, int count, byte[] to) {
        int at = 0;
        for (int i = 0; i < count; i++) {
            long text = texts[raw[i] & 0xff];
            ArrayView.LONGS.set(to, at, text);
            at += (int) (text >>> LENGTH);
        }
        return at;
    }
}
