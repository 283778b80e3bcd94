package dev.isthmus.transcoder.number;

/** Writes decimal numbers of up to 17 digits in the form of {@link Double#toString}. Does not allocate. */
final class DecimalText {
    /** The maximum bytes written for one number, as for -2.2250738585072014E-308. */
    static final int MAX_BYTES = 24;

    private static final int ZERO_POINT_ZEROS = '0' | '.' << 8 | '0' << 16 | '0' << 24;

    /** The sign of a decimal of nine digits, a bit that its digits do not use. */
    static final long MINUS = 1L << 31;

    static final long ZERO = nine(0, 1);

    private static final long TEN_8 = 100_000_000;
    private static final long TEN_16 = TEN_8 * TEN_8;

    /** 2^57 / 10^8, rounded up: precise enough for nine digits. */
    private static final long FIRST_OF_NINE = 1_441_151_881L;

    private DecimalText() {}

    /** 0.digits x 10^point, with nine digits, the first not zero, as a long. */
    static long nine(long digits, int point) {
        return (long) point << 32 | digits;
    }

    /** Writes a decimal of nine digits. */
    static int writeNine(long nine, byte[] to, int at) {
        // Overwritten if there is no sign.
        to[at] = '-';
        int i = at + ((int) nine >>> 31);
        long digits = nine & (MINUS - 1);
        long first = (digits * FIRST_OF_NINE) >>> 57;
        long eight = EightDigits.of(digits - TEN_8 * first);
        int point = (int) (nine >> 32);
        if (point > -3 && point <= 1) {
            int others = small(first, eight, point, to, i);
            return Math.max(others + 8 - (Long.numberOfLeadingZeros(eight) >>> 3), i + 3);
        }
        return large(first, eight, 0, point, to, i);
    }

    /**
     * Writes 0.digits x 10^point.
     *
     * @param seventeen seventeen digits; the highest bit is the sign
     */
    static int writeSeventeen(long seventeen, int point, byte[] to, int at) {
        to[at] = '-';
        int i = at + (int) (seventeen >>> 63);
        long digits = seventeen & Long.MAX_VALUE;
        long first = digits / TEN_16;
        long rest = digits - first * TEN_16;
        long eight = rest / TEN_8;
        long upper = EightDigits.of(eight);
        long lower = EightDigits.of(rest - eight * TEN_8);
        if (point > -3 && point <= 1) {
            int others = small(first, upper, point, to, i);
            EightDigits.write(lower, to, others + 8);
            return Math.max(others - 1 + digits(upper, lower), i + 3);
        }
        return large(first, upper, lower, point, to, i);
    }

    /** Writes a number given by its digits, as {@link EightDigits} padded with zeros, and the position of the point. */
    private static int large(long first, long upper, long lower, int point, byte[] to, int at) {
        return point > 1 && point <= 7
                ? mixed(first, upper, lower, point, to, at)
                : scientific(first, upper, lower, point, to, at);
    }

    private static int digits(long upper, long lower) {
        return lower == 0
                ? 9 - (Long.numberOfLeadingZeros(upper) >>> 3)
                : 17 - (Long.numberOfLeadingZeros(lower) >>> 3);
    }

    /**
     * 1.23, 0.123 and 0.00123 without branches, which would be mispredicted too often. Returns the index of the digits
     * after the first.
     */
    private static int small(long first, long upper, int point, byte[] to, int at) {
        ArrayView.INTS.set(to, at, ZERO_POINT_ZEROS);
        int others = at + 3 - point;
        int overPoint = (point + 3) >> 2;
        to[others - 1 - overPoint] = (byte) ('0' + first);
        EightDigits.write(upper, to, others);
        return others;
    }

    /** 1.23, 1230.0: the digits before the point stay in place, those after it move by one. */
    private static int mixed(long first, long upper, long lower, int point, byte[] to, int at) {
        to[at] = (byte) ('0' + first);
        EightDigits.write(upper, to, at + 1);
        EightDigits.write(upper >>> ((point - 1) << 3), to, at + point + 1);
        EightDigits.write(lower, to, at + 10);
        to[at + point] = '.';
        return at + 1 + Math.max(digits(upper, lower), point + 1);
    }

    /** 1.23E-20 */
    private static int scientific(long first, long upper, long lower, int point, byte[] to, int at) {
        int i = mixed(first, upper, lower, 1, to, at);
        to[i++] = 'E';
        int power = point - 1;
        if (power < 0) {
            to[i++] = '-';
            power = -power;
        }
        if (power >= 100) {
            to[i++] = (byte) ('0' + power / 100);
        }
        if (power >= 10) {
            to[i++] = (byte) ('0' + power / 10 % 10);
        }
        to[i++] = (byte) ('0' + power % 10);
        return i;
    }
}
