package dev.isthmus.transcoder.number;

/**
 * Finds the digits of what {@link UnitFloats} reads, for 128 numbers together and as fast for 17 digits as for 8. Every
 * step is a loop over all numbers without branches, which the compiler vectorizes: such a loop must be short and have a
 * constant limit, and all that it reads must be in one array at constant indices. Without vectors it takes a third more
 * time than {@link UnitFloats}.
 */
final class UnitFloatBlock {
    static final int NUMBERS = 128;
    /** The bytes that are searched for commas together, in words of eight. */
    private static final int SEARCHED = 512;

    private static final int WORDS = SEARCHED / Long.BYTES;
    /** At most so many commas are added together, and then up to three more entries are written. */
    private static final int MORE_COMMAS = Long.SIZE + 3;

    private static final long LOW_BITS = 0x7f7f_7f7f_7f7f_7f7fL;
    private static final long TOP_BITS = 0x8080_8080_8080_8080L;
    /** Moves the lowest bits of eight bytes together, into the highest byte of the product. */
    private static final long TOGETHER = 0x0102_0408_1020_4080L;

    private static final long COMMAS = 0x2c2c_2c2c_2c2c_2c2cL;
    private static final long ZEROS = 0x3030_3030_3030_3030L;
    /** What a comma is among digits. */
    private static final long COMMA_DIGITS = COMMAS ^ ZEROS;

    private static final int ZERO_POINT = '0' | '.' << 8;

    // The indices of the first of the entries for each number.
    /** The digit before the point, and the sign in the highest bit. */
    private static final int WHOLE = 0;
    /** 24 bytes from where the number begins; then as many after the point, as values of digits. */
    private static final int FIRST = WHOLE + NUMBERS;

    private static final int SECOND = FIRST + NUMBERS;
    private static final int THIRD = SECOND + NUMBERS;
    /** Not 0 once a byte that is no digit has been found. */
    private static final int ENDED = THIRD + NUMBERS;
    /** Not 0 for a number of another form. */
    private static final int OTHER = ENDED + NUMBERS;

    private final long[] entries = new long[OTHER + NUMBERS];
    private final long[] marks = new long[WORDS];
    private final int[] commas = new int[1 + NUMBERS + MORE_COMMAS];

    /**
     * Finds numbers up to the first of another form, or until fewer than 512 bytes are left.
     *
     * @param start the index after a value
     * @param end the end of the data in the window, followed by {@link NumberRun#PADDING}
     * @return how many numbers
     */
    int find(byte[] window, int start, int end) {
        int found = findCommas(window, start, end) - 1;
        if (found < 1 || commas[0] != start || !load(window, found)) {
            return 0;
        }
        separateSigns(entries);
        separateDigits(entries, FIRST);
        separateDigits(entries, SECOND);
        separateThird(entries);
        endFirst(entries);
        endSecond(entries);
        endThird(entries);
        return other(entries) == 0 ? found : Math.min(found, firstOther());
    }

    /** Copies what was found, one entry for each number. */
    void copyTo(long[] wholes, long[] firsts, long[] seconds, int[] ends) {
        System.arraycopy(entries, WHOLE, wholes, 0, NUMBERS);
        System.arraycopy(entries, FIRST, firsts, 0, NUMBERS);
        System.arraycopy(entries, SECOND, seconds, 0, NUMBERS);
        System.arraycopy(commas, 1, ends, 0, NUMBERS);
    }

    /** Returns how many commas are known, at most one more than numbers. */
    private int findCommas(byte[] window, int start, int end) {
        int count = 0;
        for (int at = start; count <= NUMBERS && at <= end - SEARCHED; at += SEARCHED) {
            markCommas(window, at, marks);
            for (int w = 0; w < WORDS && count <= NUMBERS; w += Long.BYTES) {
                long bits = marks[w]
                        | marks[w + 1] << 8
                        | marks[w + 2] << 16
                        | marks[w + 3] << 24
                        | marks[w + 4] << 32
                        | marks[w + 5] << 40
                        | marks[w + 6] << 48
                        | marks[w + 7] << 56;
                addCommas(bits, at + w * Long.BYTES, count);
                count += Long.bitCount(bits);
            }
        }
        return Math.min(count, NUMBERS + 1);
    }

    /** One bit for each byte of a word that is a comma. */
    private static void markCommas(byte[] window, int at, long[] marks) {
        for (int w = 0; w < WORDS; w++) {
            long other = (long) ArrayView.LONGS.get(window, at + w * Long.BYTES) ^ COMMAS;
            long comma = ~(((other & LOW_BITS) + LOW_BITS) | other) & TOP_BITS;
            marks[w] = ((comma >>> 7) * TOGETHER) >>> 56;
        }
    }

    /** Four at a time: how many there are is known too late for a branch. */
    private void addCommas(long bits, int at, int count) {
        long left = bits;
        int next = count;
        do {
            for (int i = 0; i < 4; i++) {
                commas[next + i] = at + Long.numberOfTrailingZeros(left);
                left &= left - 1;
            }
            next += 4;
        } while (left != 0);
    }

    /** Whether before each number is what is before the first: a comma, and a space or none. */
    private boolean load(byte[] window, int count) {
        int before = window[commas[0] + 1] == ' ' ? ' ' : ',';
        int after = before == ',' ? 1 : 2;
        int different = 0;
        for (int i = 0; i < count; i++) {
            int begin = commas[i] + after;
            different |= window[begin - 1] ^ before;
            entries[FIRST + i] = (long) ArrayView.LONGS.get(window, begin);
            entries[SECOND + i] = (long) ArrayView.LONGS.get(window, begin + 8);
            entries[THIRD + i] = (long) ArrayView.LONGS.get(window, begin + 16);
        }
        return different == 0;
    }

    private static void separateSigns(long[] entries) {
        for (int i = 0; i < NUMBERS; i++) {
            long first = entries[FIRST + i];
            long sign = (((first & 0xff) ^ '-') - 1) >> 63;
            long whole = ((first ^ ((first ^ (first >>> 8)) & sign)) & 0xffff) ^ ZERO_POINT;
            entries[WHOLE + i] = whole | (sign << 63);
            entries[OTHER + i] = (9 - whole) >>> 63;
        }
    }

    /**
     * Moves eight bytes to where they are if the number begins with the first byte after the point.
     *
     * @param at {@link #FIRST} or {@link #SECOND}; the next bytes are behind it
     */
    private static void separateDigits(long[] entries, int at) {
        for (int i = 0; i < NUMBERS; i++) {
            long eight = entries[at + i];
            long next = entries[at + NUMBERS + i];
            long sign = entries[WHOLE + i] >> 63;
            long positive = (eight >>> 16) | (next << 48);
            long negative = (eight >>> 24) | (next << 40);
            entries[at + i] = positive ^ ((positive ^ negative) & sign) ^ ZEROS;
        }
    }

    /** Of the last bytes six are left, or five, followed by bytes of 0, which are no digits. */
    private static void separateThird(long[] entries) {
        for (int i = 0; i < NUMBERS; i++) {
            long third = entries[THIRD + i];
            long sign = entries[WHOLE + i] >> 63;
            long positive = third >>> 16;
            entries[THIRD + i] = positive ^ ((positive ^ (third >>> 24)) & sign) ^ ZEROS;
        }
    }

    /** What is behind the digits becomes 0. It must be a comma, and not be the first byte. */
    private static void endFirst(long[] entries) {
        for (int i = 0; i < NUMBERS; i++) {
            long first = entries[FIRST + i];
            long others = EightDigits.others(first);
            long end = others & -others;
            entries[ENDED + i] = end;
            entries[FIRST + i] = first & ((end >>> 7) - 1);
            entries[OTHER + i] |= ((first ^ COMMA_DIGITS) & ((end << 1) - (end >>> 7))) | (end & 0x80);
        }
    }

    private static void endSecond(long[] entries) {
        for (int i = 0; i < NUMBERS; i++) {
            long goesOn = ~((entries[ENDED + i] | -entries[ENDED + i]) >> 63);
            long second = entries[SECOND + i];
            long others = EightDigits.others(second);
            long end = others & -others;
            entries[ENDED + i] |= end;
            entries[SECOND + i] = second & ((end >>> 7) - 1) & goesOn;
            entries[OTHER + i] |= (second ^ COMMA_DIGITS) & ((end << 1) - (end >>> 7)) & goesOn;
        }
    }

    /** Digits that are truncated; not those of a number of which too few others are not zero. */
    private static void endThird(long[] entries) {
        for (int i = 0; i < NUMBERS; i++) {
            long goesOn = ~((entries[ENDED + i] | -entries[ENDED + i]) >> 63);
            long third = entries[THIRD + i];
            long others = EightDigits.others(third);
            long end = others & -others;
            long small = (((entries[WHOLE + i] & 0xf) | (entries[FIRST + i] & UnitFloats.FOUR_DIGITS)) - 1) >>> 63;
            entries[OTHER + i] |= (((third ^ COMMA_DIGITS) & ((end << 1) - (end >>> 7))) | small) & goesOn;
        }
    }

    private static long other(long[] entries) {
        long other = 0;
        for (int i = 0; i < NUMBERS; i++) {
            other |= entries[OTHER + i];
        }
        return other;
    }

    private int firstOther() {
        int i = 0;
        while (entries[OTHER + i] == 0) {
            i++;
        }
        return i;
    }
}
