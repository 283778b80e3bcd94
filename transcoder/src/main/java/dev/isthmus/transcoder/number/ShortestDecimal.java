package dev.isthmus.transcoder.number;

import java.math.BigInteger;

/**
 * The parts of the Schubfach algorithm (R. Giulietti, The Schubfach way to render doubles, 2020) shared by floats and
 * doubles. It finds the fewest digits that read back to the same number, and of those the nearest.
 */
final class ShortestDecimal {
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
