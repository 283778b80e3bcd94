package dev.isthmus.transcoder.number;

import java.math.BigInteger;

/**
 * Converts decimal numbers, a significand times a power of ten, to the nearest binary numbers, ties to even. Does not
 * allocate. Cases that cannot be decided here are left to the platform's parser, which gets the original digits.
 */
final class DecimalConversion {
    /** The maximum digits of a significand. */
    static final int MAX_DIGITS = 18;

    /** The powers of ten that a double represents exactly. */
    private static final double[] POWERS = {
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
        1e20, 1e21, 1e22
    };

    private static final int EXACT = POWERS.length - 1;
    private static final long LARGEST_EXACT = 1L << 53;

    /** The bits of a double that a float lacks, and their value halfway between two floats. */
    private static final long BELOW_FLOAT = 0x1fff_ffffL;

    private static final long HALF_WAY = 0x1000_0000L;

    /**
     * The maximum error of the double in ulps: at most three roundings (significand, two powers), each of half an ulp,
     * or a whole one if the exponent changes.
     */
    private static final int MAX_ERROR = 4;

    private DecimalConversion() {}

    /**
     * The nearest float.
     *
     * @param significand 0 to 10^18 - 1
     * @return NaN if it cannot be decided here
     */
    static float toFloat(long significand, int exponent) {
        if (significand == 0) {
            return 0;
        }
        if (exponent < -2 * EXACT || exponent > 2 * EXACT) {
            return Float.NaN;
        }
        double near = scaled(significand, exponent);
        boolean normal = near >= Float.MIN_NORMAL && near < Float.MAX_VALUE;
        boolean exact = exponent >= 0 && near <= LARGEST_EXACT;
        return exact || (normal && !nearHalfWay(near, MAX_ERROR)) ? (float) near : Float.NaN;
    }

    /** Whether a double is within {@code error} ulps of halfway between two floats. */
    static boolean nearHalfWay(double value, int error) {
        return ((Double.doubleToRawLongBits(value) - HALF_WAY + error) & BELOW_FLOAT) <= 2L * error;
    }

    private static double scaled(long significand, int exponent) {
        if (exponent <= 0) {
            return exponent >= -EXACT
                    ? significand / POWERS[-exponent]
                    : significand / POWERS[EXACT] / POWERS[-exponent - EXACT];
        }
        return exponent <= EXACT
                ? significand * POWERS[exponent]
                : significand * POWERS[EXACT] * POWERS[exponent - EXACT];
    }

    /**
     * The nearest double.
     *
     * @param significand 0 to 10^18 - 1
     * @return NaN if it cannot be decided here
     */
    static double toDouble(long significand, int exponent) {
        if (significand <= LARGEST_EXACT && exponent >= -EXACT && exponent <= EXACT) {
            return scaled(significand, exponent);
        }
        return significand == 0 ? 0 : eiselLemire(significand, exponent);
    }

    /**
     * The Eisel-Lemire algorithm (D. Lemire, Number parsing at a gigabyte per second, 2021): the left-aligned
     * significand times 128 bits of the power of five; 64 of those bits are usually enough to round correctly.
     */
    private static double eiselLemire(long significand, int exponent) {
        if (exponent < FivePowers.MIN || exponent > FivePowers.MAX) {
            return Double.NaN;
        }
        int shift = Long.numberOfLeadingZeros(significand);
        long shifted = significand << shift;
        long high = Math.unsignedMultiplyHigh(shifted, FivePowers.high(exponent));
        long low = shifted * FivePowers.high(exponent);
        if ((high & 0x1ff) == 0x1ff) {
            long more = Math.unsignedMultiplyHigh(shifted, FivePowers.low(exponent));
            low += more;
            high += Long.compareUnsigned(low, more) < 0 ? 1 : 0;
        }
        int upper = (int) (high >>> 63);
        long mantissa = high >>> (upper + 9);
        // floor(log2(5^exponent)) + exponent, and the bias.
        int power = ((217_706 * exponent) >> 16) + 63 + upper - shift + 1023;
        boolean mayBeHalfWay = Long.compareUnsigned(low, 1) <= 0 && exponent >= -4 && exponent <= 23;
        boolean undecided = low == -1L && (exponent < -27 || exponent > 55);
        if (power <= 0 || power >= 2046 || undecided) {
            return Double.NaN;
        }
        if (mayBeHalfWay && (mantissa & 3) == 1 && mantissa << (upper + 9) == high) {
            mantissa &= ~1L;
        }
        // With the implicit bit on top, a carry out of the mantissa raises the exponent by itself.
        mantissa = (mantissa + (mantissa & 1)) >>> 1;
        return Double.longBitsToDouble(((long) (power - 1) << 52) + mantissa);
    }

    /** The first 128 bits of powers of five; initialized on first use. */
    private static final class FivePowers {
        static final int MIN = -342;
        static final int MAX = 308;

        private static final long[] BITS = new long[2 * (MAX - MIN + 1)];

        static {
            for (int exponent = MIN; exponent <= MAX; exponent++) {
                BigInteger bits = bits(exponent);
                BITS[2 * (exponent - MIN)] = bits.shiftRight(64).longValue();
                BITS[2 * (exponent - MIN) + 1] = bits.longValue();
            }
        }

        private static BigInteger bits(int exponent) {
            BigInteger power = BigInteger.valueOf(5).pow(Math.abs(exponent));
            int length = power.bitLength();
            if (exponent >= 0) {
                return length <= 128 ? power.shiftLeft(128 - length) : power.shiftRight(length - 128);
            }
            // 2^(length + 127) / 5^n lies between 2^127 and 2^128, as 5^n is not a power of two. It is rounded up down
            // to 5^-27, and truncated below.
            BigInteger bits = BigInteger.ONE.shiftLeft(length + 127).divide(power);
            return exponent >= -27 ? bits.add(BigInteger.ONE) : bits;
        }

        static long high(int exponent) {
            return BITS[2 * (exponent - MIN)];
        }

        static long low(int exponent) {
            return BITS[2 * (exponent - MIN) + 1];
        }
    }
}
