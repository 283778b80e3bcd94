package dev.isthmus.transcoder.number;

/**
 * Reads floats with one digit before the point and up to 23 after it, each after a comma and at most one space. Most
 * floats of tensors have this form, with 7, 8, 16 or 17 digits; there is no branch on the number of digits, which would
 * be mispredicted half of the time. Stops at anything else.
 */
final class UnitFloats {
    private static final int NOT_PLAIN = -1;
    /** A comma, a space, a sign, a digit, the point, 23 digits and the byte that ends them. */
    private static final int LOOKED_AT = 29;

    private static final int COMMA_SPACE = ',' | ' ' << 8;
    private static final int ZERO_POINT = '0' | '.' << 8;
    private static final long EIGHT_DIGITS = 100_000_000;
    private static final int FIRST = 0x80;

    /** The smallest significand after which digits may be truncated. */
    private static final long MIN_CUT = 100_000_000_000_000L;

    /** The maximum error of the double in ulps: 90 for truncated digits, and three roundings. */
    private static final int MAX_ERROR = 128;

    private int position;
    private double magnitude;

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
        int at = start;
        while (count < maxElements && at + LOOKED_AT <= end) {
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
            if (next < 0 || DecimalConversion.nearHalfWay(magnitude, MAX_ERROR) || !NumberRun.ends(window[next])) {
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

    /** Reads the digits after the point; returns the index after them. */
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

    /** Reads the digits after the first eight: eight more, and some that are truncated. */
    private int further(byte[] window, int start, long second, long before) {
        long others = EightDigits.others(second);
        long significand = before * EIGHT_DIGITS + EightDigits.value(EightDigits.before(second, others));
        magnitude = significand * 1e-16;
        // None unless eight digits precede them.
        long third = EightDigits.others(EightDigits.read(window, start + 8)) | ((others | -others) >>> 63 << 7);
        int cut = EightDigits.length(third);
        boolean exact = cut == 0 || significand >= MIN_CUT;
        return exact && cut < 8 ? start + EightDigits.length(others) + cut : NOT_PLAIN;
    }
}
