package dev.isthmus.transcoder.number;

import org.jspecify.annotations.Nullable;

/**
 * Reads floats with one digit before the point and up to 23 after it, each after a comma and at most one space. Most
 * floats of tensors have this form, with 7, 8, 16 or 17 digits; there is no branch on 7 or 8 digits, which would be
 * mispredicted half of the time. The digits of a block are found in one loop and converted in others, which have no
 * branches and which the compiler vectorizes. Stops at anything else.
 */
final class UnitFloats {
    private static final int NOT_PLAIN = -1;
    /** A comma, a space, a sign, a digit, the point, 23 digits and the byte that ends them. */
    private static final int LOOKED_AT = 29;

    private static final int BLOCK = UnitFloatBlock.NUMBERS;
    /** The elements of a block after one with a number that cannot be decided: what follows it is read again. */
    private static final int SMALL_BLOCK = 8;

    private static final int COMMA_SPACE = ',' | ' ' << 8;
    private static final int ZERO_POINT = '0' | '.' << 8;
    private static final long EIGHT_DIGITS = 100_000_000;

    /** Four digits that are zero after whole 0 make a number too small for further digits to be truncated. */
    static final long FOUR_DIGITS = 0xffff_ffffL;

    /** The maximum error of the double in ulps: 9,008 for truncated digits, as 12 are left, and three roundings. */
    private static final int MAX_ERROR = 9_100;

    /** Whether {@link UnitFloatBlock} is used: without vectors it is slower, and others were not measured. */
    private static final boolean VECTORIZED = "amd64".equals(System.getProperty("os.arch"));

    // One entry for each number of the block.
    /** The digit before the point, and the sign in the highest bit. */
    private final long[] wholes;

    /** The first eight digits after the point, zeros if there are fewer. */
    private final long[] firsts;

    /** The next eight digits. */
    private final long[] seconds;

    private final double[] magnitudes;
    /** The indices after the numbers. */
    private final int[] ends;

    private @Nullable UnitFloatBlock vectors;
    /** Whether the last block had no other numbers, and its last one more than eight digits after the point. */
    private boolean manyDigits;

    private int block;
    private int position;

    /** @param maxElements the elements that a call of {@link #read} returns at most */
    UnitFloats(int maxElements) {
        block = Math.min(maxElements, BLOCK);
        wholes = new long[block];
        firsts = new long[block];
        seconds = new long[block];
        magnitudes = new double[block];
        ends = new int[block];
    }

    /**
     * Reads numbers up to the first of another form.
     *
     * @param start the index after a value
     * @param end the end of the data in the window
     * @param to receives the elements in raw form
     * @param before the elements it already has
     * @return the elements it has now; {@link #position()} is after the last
     */
    int read(byte[] window, int start, int end, byte[] to, int before) {
        int maxElements = to.length / Float.BYTES;
        int count = before;
        int expected;
        int read;
        position = start;
        do {
            int max = Math.min(block, maxElements - count);
            int inBlock = VECTORIZED && manyDigits && max == BLOCK ? findInBlock(window, end) : 0;
            int found = inBlock > 0 ? inBlock : find(window, position, end, max);
            expected = inBlock > 0 ? inBlock : max;
            EightDigits.values(firsts, found);
            EightDigits.values(seconds, found);
            magnitudes(wholes, firsts, seconds, magnitudes, found);
            read = floats(magnitudes, wholes, found, to, count);
            block = read < found ? Math.min(block, SMALL_BLOCK) : Math.min(2 * block, wholes.length);
            position = read > 0 ? ends[read - 1] : position;
            if (read < expected && position + LOOKED_AT <= end) {
                manyDigits = false;
            } else if (read == BLOCK) {
                manyDigits = seconds[read - 1] != 0;
            }
            count += read;
        } while (read == expected && count < maxElements);
        return count;
    }

    int position() {
        return position;
    }

    private int findInBlock(byte[] window, int end) {
        if (vectors == null) {
            vectors = new UnitFloatBlock();
        }
        int found = vectors.find(window, position, end);
        vectors.copyTo(wholes, firsts, seconds, ends);
        return found;
    }

    /** Finds the digits of numbers; returns how many numbers. */
    private int find(byte[] window, int start, int end, int max) {
        int at = start;
        int count = 0;
        while (count < max && at + LOOKED_AT <= end) {
            long head = (long) ArrayView.LONGS.get(window, at);
            int begin = at + 1;
            if ((head & 0xffff) == COMMA_SPACE) {
                head >>>= 8;
                begin++;
            } else if ((head & 0xff) != ',') {
                break;
            }
            int sign = ((((int) (head >>> 8) & 0xff) ^ '-') - 1) >>> 31;
            int whole = ((int) (head >>> (8 + (sign << 3))) & 0xffff) ^ ZERO_POINT;
            if (whole > 9) {
                break;
            }
            wholes[count] = whole | (long) sign << 63;
            int next = fraction(window, at + 8, begin + sign + 2, count);
            if (next < 0) {
                break;
            }
            ends[count] = next;
            count++;
            at = next;
        }
        return count;
    }

    /**
     * Finds the digits after the point; returns the index after them.
     *
     * @param after an index at which the comma after a number of usual length is near, three or more after the start
     */
    private int fraction(byte[] window, int after, int start, int index) {
        long first = EightDigits.read(window, start);
        // Not from the start, so that the next number does not wait for this one's sign.
        int comma = after + EightDigits.commaAt(window, after);
        int digits = comma - start;
        long known = first & (-1L >>> -(digits << 3));
        if (digits > 8 || EightDigits.others(known) != 0) {
            return anyDigits(window, start, first, index);
        }
        firsts[index] = known;
        seconds[index] = 0;
        return comma;
    }

    /** Finds fewer or more digits: up to 16, and some that are truncated. */
    private int anyDigits(byte[] window, int start, long first, int index) {
        long others = EightDigits.others(first);
        firsts[index] = EightDigits.before(first, others);
        seconds[index] = 0;
        int digits = EightDigits.length(others);
        if (digits == 8) {
            long second = EightDigits.read(window, start + 8);
            long further = EightDigits.others(second);
            seconds[index] = EightDigits.before(second, further);
            digits += EightDigits.length(further);
        }
        if (digits == 16) {
            int cut = EightDigits.count(EightDigits.read(window, start + 16));
            boolean exact = cut == 0 || (wholes[index] << 1 | (first & FOUR_DIGITS)) != 0;
            digits = exact && cut < 8 ? 16 + cut : 0;
        }
        return digits > 0 && NumberRun.ends(window[start + digits]) ? start + digits : NOT_PLAIN;
    }

    /** Joins the digits of each number: 16 after the point. */
    private static void magnitudes(long[] wholes, long[] firsts, long[] seconds, double[] to, int count) {
        for (int i = 0; i < count; i++) {
            long upper = (wholes[i] & 0xf) * EIGHT_DIGITS + firsts[i];
            to[i] = (upper * EIGHT_DIGITS + seconds[i]) * 1e-16;
        }
    }

    /** Converts numbers up to one that is too near to halfway between two floats; returns how many. */
    private static int floats(double[] magnitudes, long[] wholes, int count, byte[] to, int before) {
        for (int i = 0; i < count; i++) {
            double magnitude = magnitudes[i];
            if (DecimalConversion.nearHalfWay(magnitude, MAX_ERROR)) {
                return i;
            }
            int sign = (int) (wholes[i] >>> 32);
            ArrayView.INTS.set(to, Float.BYTES * (before + i), Float.floatToRawIntBits((float) magnitude) | sign);
        }
        return count;
    }
}
