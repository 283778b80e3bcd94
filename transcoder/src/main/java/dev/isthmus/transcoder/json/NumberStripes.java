package dev.isthmus.transcoder.json;

import dev.isthmus.transcoder.number.ArrayView;

/**
 * Skims what {@link NumberBlocks} does, 6.5 KiB at a time. Every step is a loop over all words of a stripe that has no
 * branches, which the compiler vectorizes: such a loop must be short, and all planes are in one array at constant
 * indices.
 *
 * <p>A plane is {@value #WORDS} words. Bit {@code 8 b + r} of its word {@code w} stands for byte {@code b} of the word
 * {@code r * WORDS + w} of the stripe, so that the bytes before those of a word are in the word before it.
 */
final class NumberStripes {
    private static final int WORDS = 104;
    /** The bytes that are skimmed together. */
    static final int BYTES = WORDS * BytePlanes.BYTES;

    private static final int ROW = WORDS * Long.BYTES;
    /** Words before each plane, for the bytes before the word 0. */
    private static final int BEFORE = 8;

    private static final int NEXT = BEFORE + WORDS;

    private static final long LOW_NIBBLES = 0x0f0f_0f0f_0f0f_0f0fL;
    private static final long NIBBLE_ONES = 0x1111_1111_1111_1111L;
    private static final long THREES = 0x3333_3333_3333_3333L;
    private static final long EVEN_BITS = 0x5555_5555_5555_5555L;
    private static final long BYTE_ONES = 0x0101_0101_0101_0101L;

    // The indices of the planes. Some have different contents one after the other.
    /** Bits 0 to 3 of two rows each, then bits 0, 1, 2 and 3 of all bytes. */
    private static final int LOW_0 = BEFORE;

    private static final int LOW_1 = LOW_0 + NEXT;
    private static final int LOW_2 = LOW_1 + NEXT;
    private static final int LOW_3 = LOW_2 + NEXT;
    /** Bits 4 to 7 of two rows each, without those that all expected bytes have. */
    private static final int HIGH_0 = LOW_3 + NEXT;

    private static final int HIGH_1 = HIGH_0 + NEXT;
    private static final int HIGH_2 = HIGH_1 + NEXT;
    private static final int HIGH_3 = HIGH_2 + NEXT;
    private static final int DIGIT = HIGH_0;
    private static final int ZERO = HIGH_1;
    private static final int MINUS = HIGH_2;
    private static final int SPACE = HIGH_3;
    /** The bytes from 0x20 to 0x2f; the others are from 0x30 to 0x3f. */
    private static final int OTHER = HIGH_3 + NEXT;

    private static final int COMMA = OTHER + NEXT;
    private static final int POINT = COMMA + NEXT;
    private static final int WRONG = POINT + NEXT;
    /** A point is before the byte, within 2, 4 or 8 bytes, and there is no comma from it to the byte. */
    private static final int POINT_IN_2 = LOW_0;

    private static final int POINT_IN_4 = LOW_1;
    private static final int POINT_IN_8 = POINT_IN_2;
    /** From each of these to the plane of bytes that are no commas, together with as many bytes before them. */
    private static final int TO_NO_COMMA = LOW_2 - LOW_0;

    private static final int NO_COMMA_IN_2 = POINT_IN_2 + TO_NO_COMMA;
    private static final int NO_COMMA_IN_4 = POINT_IN_4 + TO_NO_COMMA;
    private static final int NO_COMMA_IN_8 = POINT_IN_8 + TO_NO_COMMA;

    private final long[] planes = new long[WRONG + WORDS];
    private long commas;

    /** The commas that the last call of {@link #read} skipped. */
    long commas() {
        return commas;
    }

    /**
     * Skims stripes up to the first with anything else, and that one up to there; returns the index after the last
     * comma that it skipped, {@code from} if there is none.
     *
     * @param from the index after a comma
     */
    int read(byte[] window, int from, int end) {
        commas = 0;
        int at = from;
        int skimmed = BYTES;
        while (skimmed == BYTES && at <= end - BYTES) {
            classify(planes, window, at);
            checkGrammar(planes);
            skimmed = wrong(planes) == 0 ? BYTES : firstWrong(planes);
            commas += skimmed == BYTES ? commas(planes) : commas(planes, skimmed);
            at += skimmed;
            while (at > from && window[at - 1] != ',') {
                at--;
            }
        }
        return at;
    }

    private static void classify(long[] planes, byte[] window, int at) {
        splitNibbles(planes, LOW_0, HIGH_0, window, at);
        splitNibbles(planes, LOW_1, HIGH_1, window, at + ROW);
        splitNibbles(planes, LOW_2, HIGH_2, window, at + 2 * ROW);
        splitNibbles(planes, LOW_3, HIGH_3, window, at + 3 * ROW);
        separateHigh(planes);
        checkHigh(planes);
        pairLow(planes);
        separateLow(planes);
        separateKinds(planes);
        for (int plane = HIGH_0; plane < WRONG; plane += NEXT) {
            copyBefore(planes, plane, 1);
        }
        // Before the stripe is a comma.
        planes[COMMA - 1] |= BYTE_ONES;
    }

    private static void checkGrammar(long[] planes) {
        checkOrder(planes);
        checkZeros(planes);
        findIn2(planes);
        copyBefore(planes, POINT_IN_2, 1);
        copyBefore(planes, NO_COMMA_IN_2, 1);
        findTwiceAsFar(planes, POINT_IN_2, POINT_IN_4, 16);
        copyBefore(planes, POINT_IN_4, 1);
        copyBefore(planes, NO_COMMA_IN_4, 1);
        findTwiceAsFar(planes, POINT_IN_4, POINT_IN_8, 32);
        for (int distance = 1; distance <= 3; distance++) {
            copyBefore(planes, POINT_IN_8, distance);
            copyBefore(planes, NO_COMMA_IN_8, distance);
        }
        checkDistances(planes);
    }

    /** The words before those of row 0 are those of no row, and before the others the last ones of the row before. */
    private static void copyBefore(long[] planes, int plane, int distance) {
        planes[plane - distance] = (planes[plane + WORDS - distance] & ~(BYTE_ONES << 7)) << 1;
    }

    /** Bits 0 to 3 of a row and of the fourth after it, and bits 4 to 7 of both. */
    private static void splitNibbles(long[] planes, int low, int high, byte[] window, int at) {
        for (int w = 0; w < WORDS; w++) {
            long first = (long) ArrayView.LONGS.get(window, at + w * Long.BYTES);
            long second = (long) ArrayView.LONGS.get(window, at + 4 * ROW + w * Long.BYTES);
            planes[low + w] = (first & LOW_NIBBLES) | ((second & LOW_NIBBLES) << 4);
            planes[high + w] = (((first >>> 4) & LOW_NIBBLES) | (second & ~LOW_NIBBLES)) ^ THREES;
        }
    }

    private static void separateHigh(long[] planes) {
        for (int w = 0; w < WORDS; w++) {
            long high0 = planes[HIGH_0 + w];
            long high1 = planes[HIGH_1 + w];
            long high2 = planes[HIGH_2 + w];
            long high3 = planes[HIGH_3 + w];
            planes[OTHER + w] = (high0 & NIBBLE_ONES)
                    | ((high1 & NIBBLE_ONES) << 1)
                    | ((high2 & NIBBLE_ONES) << 2)
                    | ((high3 & NIBBLE_ONES) << 3);
        }
    }

    /** Bytes outside of 0x20 to 0x3f. */
    private static void checkHigh(long[] planes) {
        for (int w = 0; w < WORDS; w++) {
            long high0 = planes[HIGH_0 + w] >>> 1;
            long high1 = planes[HIGH_1 + w] >>> 1;
            long high2 = planes[HIGH_2 + w] >>> 1;
            long high3 = planes[HIGH_3 + w] >>> 1;
            planes[WRONG + w] = ((high0 | (high0 >>> 1) | (high0 >>> 2)) & NIBBLE_ONES)
                    | (((high1 | (high1 >>> 1) | (high1 >>> 2)) & NIBBLE_ONES) << 1)
                    | (((high2 | (high2 >>> 1) | (high2 >>> 2)) & NIBBLE_ONES) << 2)
                    | (((high3 | (high3 >>> 1) | (high3 >>> 2)) & NIBBLE_ONES) << 3);
        }
    }

    private static void pairLow(long[] planes) {
        for (int w = 0; w < WORDS; w++) {
            long low0 = planes[LOW_0 + w];
            long low1 = planes[LOW_1 + w];
            long low2 = planes[LOW_2 + w];
            long low3 = planes[LOW_3 + w];
            long even = ((low0 >>> 2) ^ low2) & THREES;
            long odd = ((low1 >>> 2) ^ low3) & THREES;
            planes[LOW_0 + w] = low0 ^ (even << 2);
            planes[LOW_1 + w] = low1 ^ (odd << 2);
            planes[LOW_2 + w] = low2 ^ even;
            planes[LOW_3 + w] = low3 ^ odd;
        }
    }

    private static void separateLow(long[] planes) {
        for (int w = 0; w < WORDS; w++) {
            long low0 = planes[LOW_0 + w];
            long low1 = planes[LOW_1 + w];
            long low2 = planes[LOW_2 + w];
            long low3 = planes[LOW_3 + w];
            long lower = ((low0 >>> 1) ^ low1) & EVEN_BITS;
            long upper = ((low2 >>> 1) ^ low3) & EVEN_BITS;
            planes[LOW_0 + w] = low0 ^ (lower << 1);
            planes[LOW_1 + w] = low1 ^ lower;
            planes[LOW_2 + w] = low2 ^ (upper << 1);
            planes[LOW_3 + w] = low3 ^ upper;
        }
    }

    private static void separateKinds(long[] planes) {
        for (int w = 0; w < WORDS; w++) {
            long bit0 = planes[LOW_0 + w];
            long bit1 = planes[LOW_1 + w];
            long bit2 = planes[LOW_2 + w];
            long bit3 = planes[LOW_3 + w];
            long other = planes[OTHER + w];
            long any = bit0 | bit1 | bit2 | bit3;
            // 0x2c to 0x2f: comma, minus, point, slash.
            long mark = other & bit2 & bit3;
            long minus = mark & bit0;
            long point = mark & bit1;
            long space = other & ~any;
            long digit = ~(other | (bit3 & (bit1 | bit2)));
            planes[COMMA + w] = mark & ~(bit0 | bit1);
            planes[MINUS + w] = minus;
            planes[POINT + w] = point;
            planes[SPACE + w] = space;
            planes[ZERO + w] = ~(other | any);
            planes[DIGIT + w] = digit;
            planes[WRONG + w] |= ~(digit | mark | space) | (minus & point);
        }
    }

    /** Bytes that may not follow the one before them. */
    private static void checkOrder(long[] planes) {
        for (int w = 0; w < WORDS; w++) {
            long comma = planes[COMMA + w];
            long space = planes[SPACE + w];
            long separatorBefore = planes[COMMA + w - 1] | planes[SPACE + w - 1];
            long afterSeparator = ((comma | space) << 8) | (separatorBefore >>> 56);
            long afterDigit = (planes[DIGIT + w] << 8) | (planes[DIGIT + w - 1] >>> 56);
            planes[WRONG + w] |=
                    ((planes[MINUS + w] | space) & ~afterSeparator) | ((comma | planes[POINT + w]) & ~afterDigit);
        }
    }

    /** Digits after a zero that begins a number, and numbers that are only a zero with a minus. */
    private static void checkZeros(long[] planes) {
        for (int w = 0; w < WORDS; w++) {
            long comma = planes[COMMA + w];
            long minus = planes[MINUS + w];
            long zero = planes[ZERO + w];
            long minusBefore = planes[MINUS + w - 1];
            long zeroBefore = planes[ZERO + w - 1];
            long separatorBefore = planes[COMMA + w - 1] | planes[SPACE + w - 1];
            long minusZero = zero & ((minus << 8) | (minusBefore >>> 56));
            long leadingZero = minusZero | (zero & (((comma | planes[SPACE + w]) << 8) | (separatorBefore >>> 56)));
            long leadingZeroBefore = zeroBefore & ((separatorBefore | minusBefore) << 8);
            long afterLeadingZero = (leadingZero << 8) | (leadingZeroBefore >>> 56);
            long afterMinusZero = (minusZero << 8) | ((zeroBefore & (minusBefore << 8)) >>> 56);
            planes[WRONG + w] |= (planes[DIGIT + w] & afterLeadingZero) | (comma & afterMinusZero);
        }
    }

    private static void findIn2(long[] planes) {
        for (int w = 0; w < WORDS; w++) {
            long none = ~planes[COMMA + w];
            long noneBefore = ~planes[COMMA + w - 1];
            long pointBefore = planes[POINT + w - 1];
            long point = none & ((planes[POINT + w] << 8) | (pointBefore >>> 56));
            planes[POINT_IN_2 + w] = point | (none & ((point << 8) | ((noneBefore & (pointBefore << 8)) >>> 56)));
            planes[NO_COMMA_IN_2 + w] = none & ((none << 8) | (noneBefore >>> 56));
        }
    }

    /**
     * From what is known of some bytes before each byte, finds the same of twice as many.
     *
     * @param from a plane of points; {@link #TO_NO_COMMA} leads to that of commas, as for {@code to}
     * @param bits of the bytes that are known
     */
    private static void findTwiceAsFar(long[] planes, int from, int to, int bits) {
        for (int w = 0; w < WORDS; w++) {
            long point = planes[from + w];
            long none = planes[from + TO_NO_COMMA + w];
            planes[to + w] = point | (none & ((point << bits) | (planes[from + w - 1] >>> (64 - bits))));
            planes[to + TO_NO_COMMA + w] =
                    none & ((none << bits) | (planes[from + TO_NO_COMMA + w - 1] >>> (64 - bits)));
        }
    }

    /** Second points of a number, and commas that are {@link NumberBlocks#MAX_DISTANCE} apart, four words, or more. */
    private static void checkDistances(long[] planes) {
        for (int w = 0; w < WORDS; w++) {
            long noneIn8 = planes[NO_COMMA_IN_8 + w];
            long noneIn16 = noneIn8 & planes[NO_COMMA_IN_8 + w - 1];
            long noneIn24 = noneIn16 & planes[NO_COMMA_IN_8 + w - 2];
            long point = planes[POINT_IN_8 + w]
                    | (noneIn8 & planes[POINT_IN_8 + w - 1])
                    | (noneIn16 & planes[POINT_IN_8 + w - 2])
                    | (noneIn24 & planes[POINT_IN_8 + w - 3]);
            planes[WRONG + w] |= (planes[POINT + w] & point) | (noneIn24 & planes[NO_COMMA_IN_8 + w - 3]);
        }
    }

    private static long wrong(long[] planes) {
        long wrong = 0;
        for (int w = 0; w < WORDS; w++) {
            wrong |= planes[WRONG + w];
        }
        return wrong;
    }

    private static long commas(long[] planes) {
        long commas = 0;
        for (int w = 0; w < WORDS; w++) {
            commas += Long.bitCount(planes[COMMA + w]);
        }
        return commas;
    }

    /** The first byte of the stripe that is wrong; one must be. Whether a byte is depends on those before it only. */
    private static int firstWrong(long[] planes) {
        long row = BYTE_ONES;
        for (int at = 0; ; at += ROW, row <<= 1) {
            for (int w = 0; w < WORDS; w++) {
                long wrong = planes[WRONG + w] & row;
                if (wrong != 0) {
                    return at + w * Long.BYTES + (Long.numberOfTrailingZeros(wrong) >>> 3);
                }
            }
        }
    }

    /** The commas in the first bytes of the stripe. */
    private static long commas(long[] planes, int bytes) {
        int words = bytes / Long.BYTES;
        long commas = 0;
        for (int word = 0; word < words; word++) {
            commas += Long.bitCount(planes[COMMA + word % WORDS] & (BYTE_ONES << (word / WORDS)));
        }
        long rest = (1L << (bytes % Long.BYTES * Byte.SIZE)) - 1;
        return commas + Long.bitCount(planes[COMMA + words % WORDS] & (BYTE_ONES << (words / WORDS)) & rest);
    }
}
