package dev.isthmus.transcoder.number;

/**
 * The shortest decimals of finite floats, with the digits of {@link Float#toString}: the fewest digits that read back
 * to the same float, and of those the nearest. Does not allocate. {@link ShortestDecimal} has the algorithm; 63 bits of
 * the power of ten are enough for floats.
 */
final class FloatDecimal {
    private static final int MIN_POWER = -36;
    private static final int MAX_POWER = 45;
    /** The fractional bits of a scaled number. */
    private static final long REST = 0x7fff_ffffL;

    /** 10^n, for n from MIN_POWER, scaled to 63 bits and rounded up. */
    private static final long[] POWERS = new long[MAX_POWER - MIN_POWER + 1];

    private static final int BIAS = 150;
    private static final int INFINITE = 255;

    /** For each biased exponent, n of the largest 10^n that is at most the distance of two floats. */
    private static final byte[] EXPONENTS = new byte[INFINITE];

    /** That distance divided by 10^n, with {@link ShortestDecimal#POINT} bits after the point. */
    private static final long[] DISTANCES = new long[INFINITE];

    /** The bits after the point of a float divided by 10^n. */
    private static final int POINT = 34;

    private static final int ADDED = ShortestDecimal.POINT - POINT;

    /** More than the error of that: half of its last bit for that of the distance, and one because it is truncated. */
    private static final long ERROR = 4L << ADDED;

    static {
        for (int n = MIN_POWER; n <= MAX_POWER; n++) {
            POWERS[n - MIN_POWER] = ShortestDecimal.power(n, 63).longValueExact();
        }
        for (int biased = 1; biased < INFINITE; biased++) {
            EXPONENTS[biased] = (byte) ShortestDecimal.log10OfPower2(biased - BIAS);
            DISTANCES[biased] = ShortestDecimal.distance(biased - BIAS, 0).longValueExact();
        }
    }

    private FloatDecimal() {}

    /**
     * The shortest decimal of a float, as {@link DecimalText#nine}.
     *
     * @param bits the bits of a finite float
     */
    static long of(int bits) {
        int fraction = bits & 0x7f_ffff;
        int biased = (bits >>> 23) & 0xff;
        if (biased == 0) {
            return signed(bits, fraction == 0 ? DecimalText.ZERO : shortest(fraction, 1 - BIAS, false));
        }
        int significand = fraction | 0x80_0000;
        long distance = DISTANCES[biased];
        long value = Math.multiplyHigh(distance, (long) significand << (Long.SIZE - ADDED));
        long up = distance >>> 1;
        // The next lower float is nearer to a power of two.
        long down = up >>> ((fraction - 1) >>> 31);
        long rest = (value << ADDED) & (ShortestDecimal.ONE - 1);
        long number = ShortestDecimal.nearest(value >>> POINT, rest, down, up, ERROR);
        if (number == ShortestDecimal.UNDECIDED) {
            return signed(bits, shortest(significand, biased - BIAS, fraction == 0 && biased > 1));
        }
        // It has seven to nine digits.
        long eight = (9_999_999 - number) >>> 63;
        long nine = (99_999_999 - number) >>> 63;
        int point = 7 + (int) (eight + nine) + EXPONENTS[biased];
        return signed(bits, DecimalText.nine(number * (100 - 90 * eight - 9 * nine), point));
    }

    private static long signed(int bits, long decimal) {
        return decimal | (bits & DecimalText.MINUS);
    }

    /**
     * The shortest decimal in the interval that rounds to {@code significand x 2^power}, as {@link DecimalText#nine}.
     *
     * @param significand at most 24 bits; the next value differs by one in the last bit
     * @param narrow whether the next lower float is nearer than the next higher one
     */
    static long shortest(int significand, int power, boolean narrow) {
        int odd = significand & 1;
        int exponent = narrow ? ShortestDecimal.log10OfThreeQuarters(power) : ShortestDecimal.log10OfPower2(power);
        // Four times the interval's bounds and the float, divided by 10^exponent: truncated integers, with the last bit
        // set if inexact.
        int scale = power + ShortestDecimal.log2OfPower10(-exponent) + 33;
        long ten = POWERS[-exponent - MIN_POWER];
        long middle = 4L * significand;
        long value = scaled(middle, ten, scale);
        long min = scaled(narrow ? middle - 1 : middle - 2, ten, scale) + odd;
        long max = scaled(middle + 2, ten, scale) - odd;
        int number = (int) ShortestDecimal.within(value, min, max);
        int length = length(number);
        return DecimalText.nine(number * ShortestDecimal.TENS[9 - length], length + exponent);
    }

    /** number x ten x 2^(scale - 95), truncated; the last bit is set if any of the 31 bits after it is. */
    private static long scaled(long number, long ten, int scale) {
        long product = Math.multiplyHigh(ten, number << scale);
        return (product >>> 31) | (((product & REST) + REST) >>> 31);
    }

    /** The number of digits, 1 to 9. */
    private static int length(int number) {
        int near = ((32 - Integer.numberOfLeadingZeros(number)) * 1233) >>> 12;
        return near + (int) ((ShortestDecimal.TENS[near] - 1 - number) >>> 63);
    }
}
