package dev.isthmus.transcoder.number;

import java.util.Arrays;

/**
 * Reads numbers of 0 to 255, separated by commas without spaces, two at a time: two of them with their commas fit into
 * eight bytes. Stops at anything else.
 */
final class OctetPairReader {
    private static final int COMMA = ',' ^ '0';
    private static final long ONES = 0x0101010101010101L;
    /** The preceding comma and eight bytes. */
    private static final int LOOKED_AT = 9;

    /** Joins the nibbles of three bytes in twelve bits, from bit 16 on; the first byte is the highest. */
    private static final long JOIN = 1 << 24 | 1 << 12 | 1;

    private static final int JOINED = 0xfff;

    /** The value for three digits, each increased by one and padded with zeros at the end; -1 for none. */
    private static final short[] VALUES = new short[JOINED + 1];

    static {
        Arrays.fill(VALUES, (short) -1);
        for (int value = 0; value < 256; value++) {
            String digits = Integer.toString(value);
            long text = 0;
            for (int i = 0; i < digits.length(); i++) {
                text |= (long) (digits.charAt(i) - '0' + 1) << (8 * i);
            }
            VALUES[joined(text)] = (short) value;
        }
    }

    private int position;

    /**
     * Reads pairs up to the first other input.
     *
     * @param start the index after a value
     * @param end the end of the data in the window
     * @return the number of elements read; {@link #position()} is after the last
     */
    int read(byte[] window, int start, int end, byte[] to) {
        int count = 0;
        int at = start;
        boolean pairs = window[at] == ',';
        while (pairs && count + 1 < to.length && at + LOOKED_AT <= end) {
            long eight = EightDigits.read(window, at + 1);
            long others = EightDigits.others(eight);
            long later = others & (others - 1);
            int first = Long.numberOfTrailingZeros(others) - 7;
            int both = Long.numberOfTrailingZeros(later) - 7;
            // The digits before the first non-digit, and those before the second.
            long more = eight + ONES;
            long one = more & ((others ^ (others - 1)) >>> 8);
            long two = (more & ((later ^ (later - 1)) >>> 8)) >>> first >>> 8;
            int oneValue = VALUES[joined(one)];
            int twoValue = VALUES[joined(two)];
            long commas = (((eight >>> first) ^ COMMA) | ((eight >>> both) ^ COMMA)) & 0xff;
            pairs = (oneValue | twoValue) >= 0 && (commas | ((one | two) >>> 24)) == 0;
            if (pairs) {
                to[count] = (byte) oneValue;
                to[count + 1] = (byte) twoValue;
                count += 2;
                at += (both >>> 3) + 1;
            }
        }
        position = at;
        return count;
    }

    int position() {
        return position;
    }

    private static int joined(long text) {
        return (int) ((text * JOIN) >>> 16) & JOINED;
    }
}
