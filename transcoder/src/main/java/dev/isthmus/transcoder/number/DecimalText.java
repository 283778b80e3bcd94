package dev.isthmus.transcoder.number;

/** Writes decimal numbers of up to 17 digits in the form of {@link Double#toString}. Does not allocate. */
final class DecimalText {
    /** The maximum bytes written for one number, as for -2.2250738585072014E-308. */
    static final int MAX_BYTES = 24;

    private static final int ZERO_POINT_ZEROS = '0' | '.' << 8 | '0' << 16 | '0' << 24;

    private DecimalText() {}

    static int zero(byte[] to, int at) {
        ArrayView.INTS.set(to, at, ZERO_POINT_ZEROS);
        return at + 3;
    }

    /**
     * Writes a number given by its digits, as {@link EightDigits} padded with zeros.
     *
     * @param first the leading digit, not zero
     * @param point the position of the point: 0.digits x 10^point
     * @return the index after the last byte
     */
    static int write(long first, long upper, long lower, int point, byte[] to, int at) {
        if (point > -3 && point <= 1) {
            return small(first, upper, lower, point, to, at);
        }
        return point > 1 && point <= 7
                ? mixed(first, upper, lower, point, to, at)
                : scientific(first, upper, lower, point, to, at);
    }

    private static int digits(long upper, long lower) {
        return lower == 0
                ? 9 - (Long.numberOfLeadingZeros(upper) >>> 3)
                : 17 - (Long.numberOfLeadingZeros(lower) >>> 3);
    }

    /** 1.23, 0.123 and 0.00123 without branches, which would be mispredicted too often. */
    private static int small(long first, long upper, long lower, int point, byte[] to, int at) {
        ArrayView.INTS.set(to, at, ZERO_POINT_ZEROS);
        int others = at + 3 - point;
        int overPoint = (point + 3) >> 2;
        to[others - 1 - overPoint] = (byte) ('0' + first);
        EightDigits.write(upper, to, others);
        EightDigits.write(lower, to, others + 8);
        return Math.max(others - 1 + digits(upper, lower), at + 3);
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
