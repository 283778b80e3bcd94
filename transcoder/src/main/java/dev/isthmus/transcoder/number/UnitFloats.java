package dev.isthmus.transcoder.number;

/**
 * Reads floats of one digit before the point and up to 23 behind it, with a comma before each and at most one space behind
 * that. Most floats of tensors are such, of 7 or 8 digits, or of 16 or 17, as it happens: there is no branch between these,
 * which would be guessed wrong half of the time. What it leaves is for others to read, or to refuse.
 */
final class UnitFloats {
    private static final int NOT_PLAIN = -1;
    /** A comma, a space, a sign, a digit, the point, 23 digits and what ends them. */
    private static final int LOOKED_AT = 29;

    private static final int COMMA_SPACE = ',' | ' ' << 8;
    private static final int ZERO_POINT = '0' | '.' << 8;
    private static final long EIGHT_DIGITS = 100_000_000;
    private static final int FIRST = 0x80;

    /** A significand of which digits may be cut off. */
    private static final long LEAST_CUT = 100_000_000_000_000L;

    /** By so many last places the double may be off: 90 for what was cut off, and three roundings. */
    private static final int OFF = 128;

    private int position;
    private double magnitude;

    /**
     * Reads numbers as long as they are such.
     *
     * @param start behind a value
     * @param end of what there is in the window
     * @param to gets the elements
     * @param before elements that it has
     * @return elements that it has now; {@link #position()} is behind the last
     */
    int read(byte[] window, int start, int end, byte[] to, int before) {
        int most = to.length / Float.BYTES;
        int count = before;
        int at = start;
        while (count < most && at + LOOKED_AT <= end) {
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
            int next = fraction(window, begin + sign + 2, whole);
            if (next < 0 || DecimalConversion.nearHalfWay(magnitude, OFF) || !NumberRun.ends(window[next])) {
                break;
            }
            ArrayView.INTS.set(to, Float.BYTES * count, Float.floatToRawIntBits((float) magnitude) | sign << 31);
            count++;
            at = next;
        }
        position = at;
        return count;
    }

    int position() {
        return position;
    }

    /** Reads digits behind the point, and gives the place behind them. */
    private int fraction(byte[] window, int start, int whole) {
        long first = EightDigits.read(window, start);
        long second = EightDigits.read(window, start + 8);
        long others = EightDigits.others(first);
        long significand = whole * EIGHT_DIGITS + EightDigits.value(EightDigits.before(first, others));
        if ((others | (EightDigits.others(second) & FIRST)) == 0) {
            return further(window, start + 8, second, significand);
        }
        magnitude = significand * 1e-8;
        int digits = EightDigits.length(others);
        return digits > 0 ? start + digits : NOT_PLAIN;
    }

    /** Reads digits behind the first eight: eight more, and then some that are cut off. */
    private int further(byte[] window, int start, long second, long before) {
        long others = EightDigits.others(second);
        long significand = before * EIGHT_DIGITS + EightDigits.value(EightDigits.before(second, others));
        magnitude = significand * 1e-16;
        // None where there are not eight before them.
        long third = EightDigits.others(EightDigits.read(window, start + 8)) | ((others | -others) >>> 63 << 7);
        int cut = EightDigits.length(third);
        boolean exact = cut == 0 || significand >= LEAST_CUT;
        return exact && cut < 8 ? start + EightDigits.length(others) + cut : NOT_PLAIN;
    }
}
