package dev.isthmus.transcoder.number;

import java.math.BigInteger;

/**
 * The parts of the Schubfach algorithm (R. Giulietti, The Schubfach way to render doubles, 2020) shared by floats and
 * doubles. It finds the fewest digits that read back to the same number, and of those the nearest.
 */
final class ShortestDecimal {
    /** The bits after the point of the numbers for {@link #nearest}. */
    static final int POINT = 59;

    static final long ONE = 1L << POINT;

    /** {@link #nearest} cannot decide. */
    static final long UNDECIDED = -1;

    private static final long HALF = ONE >>> 1;
    private static final long TEN = 10 * ONE;

    /** 10^n, for n from 0 to 17. */
    static final long[] TENS = new long[18];

    static {
        TENS[0] = 1;
        for (int i = 1; i < TENS.length; i++) {
            TENS[i] = 10 * TENS[i - 1];
        }
    }

    private ShortestDecimal() {}

    /** floor(n log2 10) */
    static int log2OfPower10(int n) {
        return (int) ((n * 913_124_641_741L) >> 38);
    }

    /** floor(n log10 2) */
    static int log10OfPower2(int n) {
        return (int) ((n * 661_971_961_083L) >> 41);
    }

    /** floor(log10(3/4 2^n)) */
    static int log10OfThreeQuarters(int n) {
        return (int) ((n * 661_971_961_083L - 274_743_187_321L) >> 41);
    }

    /** 10^n, scaled by a power of two to {@code bits} bits and rounded up. */
    static BigInteger power(int n, int bits) {
        BigInteger power = BigInteger.TEN.pow(Math.abs(n));
        int left = bits - 1 - log2OfPower10(n);
        BigInteger scaled = n >= 0
                ? left >= 0 ? power.shiftLeft(left) : power.shiftRight(-left)
                : BigInteger.ONE.shiftLeft(left).divide(power);
        return scaled.add(BigInteger.ONE);
    }

    /**
     * 2^n / 10^{@link #log10OfPower2}(n), at least 1 and less than 10, truncated.
     *
     * @param more bits after the point, in addition to {@link #POINT}
     */
    static BigInteger distance(int n, int more) {
        int exponent = log10OfPower2(n);
        int shift = n + POINT + more;
        BigInteger ten = BigInteger.TEN.pow(Math.abs(exponent));
        if (exponent < 0) {
            return shift >= 0 ? ten.shiftLeft(shift) : ten.shiftRight(-shift);
        }
        return BigInteger.ONE.shiftLeft(shift).divide(ten);
    }

    /**
     * As {@link #within}, with one product instead of three: the bounds are added to it. Undecided where they are as
     * near to an integer as its error, and where only a number with one more digit reads back to a power of two.
     *
     * @param whole the number to write, truncated; 10 or more
     * @param rest the rest, with {@link #POINT} bits after the point
     * @param down half of the distance to the next lower number, 1/4 to 5
     * @param up half of the distance to the next higher number, 1/2 to 5
     * @param error more than the errors of {@code rest} and one of the bounds together
     */
    static long nearest(long whole, long rest, long down, long up, long error) {
        long ten = whole / 10 * 10;
        long overTen = ((whole - ten) << POINT) + rest;
        long middle = rest - HALF;
        // Negative if the multiple of ten below, or above, reads back to the number. There is at most one.
        long low = overTen - down;
        long high = TEN - overTen - up;
        boolean outside = (middle & (down - rest)) < 0;
        if (near(low, error) || near(high, error) || near(middle, error) || outside) {
            return UNDECIDED;
        }
        // Masks instead of branches, which would be mispredicted too often.
        long tens = (low | high) >> 63;
        long one = whole + 1 + (middle >> 63);
        return ((ten + (10 & (high >> 63))) & tens) | (one & ~tens);
    }

    /** Whether a number is 0 within this error, a power of two. */
    private static boolean near(long number, long error) {
        return ((number + error) & -2 * error) == 0;
    }

    /**
     * Chooses one of four integers, two of which end in a zero. All arguments are four times their value, with the last
     * bit set if inexact.
     *
     * @param value the number to write
     * @param min the smallest number that reads back to it
     * @param max the largest number that reads back to it
     */
    static long within(long value, long min, long max) {
        // Zeros and ones instead of branches, which would be mispredicted too often.
        long down = value >>> 2;
        long ten = down / 10 * 10;
        long lowTen = atMost(min, ten << 2);
        long highTen = atMost((ten + 10) << 2, max);
        long low = atMost(min, down << 2);
        long high = atMost((down + 1) << 2, max);
        long one = low ^ high;
        long nearer = ((value & 3) + (down & 1) + 1) >>> 2;
        long chosen = down + ((high & one) | (nearer & ~one));
        long tenOnly = -(lowTen ^ highTen);
        return down < 10 ? chosen : chosen + (tenOnly & (ten + 10 * highTen - chosen));
    }

    /** 1 if {@code number} is at most {@code other}, otherwise 0; both have less than 63 bits. */
    private static long atMost(long number, long other) {
        return ((other - number) >>> 63) ^ 1;
    }
}
