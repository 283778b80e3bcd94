package dev.isthmus.transcoder.number;

import java.math.BigInteger;

/**
 * The shortest decimals of finite doubles, as {@link FloatDecimal} those of floats, with 126 bits of the power of ten.
 * Does not allocate. The digits are those of {@link Double#toString}, except for some of the smallest doubles, for
 * which that has two digits although one is enough.
 */
final class DoubleDecimal {
    private static final int MIN_POWER = -292;
    private static final int MAX_POWER = 324;
    private static final int FRACTION_BITS = 52;
    private static final long FRACTION = (1L << FRACTION_BITS) - 1;
    private static final int MIN_EXPONENT = -1074;
    private static final long LOW_63 = Long.MAX_VALUE;
    private static final int INFINITE = 2047;

    /** 10^n, for n from MIN_POWER, scaled to 126 bits and rounded up: the upper 63 bits, then the lower. */
    private static final long[] POWERS = new long[2 * (MAX_POWER - MIN_POWER + 1)];

    /** As {@link FloatDecimal}: distances with 64 more bits after the point, and n. */
    private static final long[] DISTANCES = new long[2 * INFINITE];

    private static final short[] EXPONENTS = new short[INFINITE];

    /** The bits after the point of a double divided by 10^n that are above the lower 64. */
    private static final int UPPER_BITS = 5;

    /** The lower 64 bits that are not used. */
    private static final int UNUSED = Long.SIZE + UPPER_BITS - ShortestDecimal.POINT;

    private static final long ERROR = 4;

    static {
        for (int n = MIN_POWER; n <= MAX_POWER; n++) {
            BigInteger scaled = ShortestDecimal.power(n, 126);
            POWERS[2 * (n - MIN_POWER)] = scaled.shiftRight(63).longValueExact();
            POWERS[2 * (n - MIN_POWER) + 1] = scaled.longValue() & LOW_63;
        }
        for (int biased = 1; biased < INFINITE; biased++) {
            int power = biased - 1 + MIN_EXPONENT;
            BigInteger distance = ShortestDecimal.distance(power, Long.SIZE);
            DISTANCES[2 * biased] = distance.shiftRight(Long.SIZE).longValueExact();
            DISTANCES[2 * biased + 1] = distance.longValue();
            EXPONENTS[biased] = (short) ShortestDecimal.log10OfPower2(power);
        }
    }

    private DoubleDecimal() {}

    /**
     * The shortest decimal of a double. It is for {@link DecimalText#seventeen}: 17 digits, then the position of the
     * point.
     *
     * @param bits the bits of a finite double
     * @param to receives two elements
     */
    static void of(long bits, long[] to, int at) {
        long fraction = bits & FRACTION;
        int biased = (int) (bits >>> FRACTION_BITS) & 0x7ff;
        long sign = bits & Long.MIN_VALUE;
        if (biased == 0) {
            if (fraction == 0) {
                put(sign, 1, to, at);
            } else {
                shortest(sign, fraction, MIN_EXPONENT, false, to, at);
            }
            return;
        }
        long significand = fraction | 1L << FRACTION_BITS;
        long distance = DISTANCES[2 * biased];
        long factor = significand << (Long.SIZE + UPPER_BITS - ShortestDecimal.POINT);
        long more = Math.unsignedMultiplyHigh(DISTANCES[2 * biased + 1], factor);
        long lower = distance * factor + more;
        long carry = Long.compareUnsigned(lower, more) < 0 ? 1 : 0;
        long upper = Math.multiplyHigh(distance, factor) + carry;
        long rest = ((upper << (ShortestDecimal.POINT - UPPER_BITS)) & (ShortestDecimal.ONE - 1)) | (lower >>> UNUSED);
        long up = distance >>> 1;
        long down = up >>> ((fraction - 1) >>> 63);
        long number = ShortestDecimal.nearest(upper >>> UPPER_BITS, rest, down, up, ERROR);
        if (number == ShortestDecimal.UNDECIDED) {
            shortest(sign, significand, biased - 1 + MIN_EXPONENT, fraction == 0 && biased > 1, to, at);
            return;
        }
        // It has sixteen or seventeen digits.
        long more17 = (ShortestDecimal.TENS[16] - 1 - number) >>> 63;
        put(sign | number * (10 - 9 * more17), 16 + (int) more17 + EXPONENTS[biased], to, at);
    }

    private static void put(long digits, int point, long[] to, int at) {
        to[at] = digits;
        to[at + 1] = point;
    }

    /** As {@link FloatDecimal#shortest}. */
    private static void shortest(long sign, long significand, int power, boolean narrow, long[] to, int at) {
        long odd = significand & 1;
        int exponent = narrow ? ShortestDecimal.log10OfThreeQuarters(power) : ShortestDecimal.log10OfPower2(power);
        int scale = power + ShortestDecimal.log2OfPower10(-exponent) + 2;
        int ten = 2 * (-exponent - MIN_POWER);
        long middle = 4 * significand;
        long value = scaled(middle << scale, ten);
        long min = scaled((narrow ? middle - 1 : middle - 2) << scale, ten) + odd;
        long max = scaled((middle + 2) << scale, ten) - odd;
        long number = ShortestDecimal.within(value, min, max);
        int near = ((64 - Long.numberOfLeadingZeros(number)) * 1233) >>> 12;
        int length = near + (number >= ShortestDecimal.TENS[near] ? 1 : 0);
        put(sign | number * ShortestDecimal.TENS[17 - length], length + exponent, to, at);
    }

    /** number x 10^n / 2^127, truncated; the last bit is set if the result is inexact. */
    private static long scaled(long number, int ten) {
        long upper = POWERS[ten];
        long carried = ((upper * number) >>> 1) + Math.multiplyHigh(POWERS[ten + 1], number);
        long whole = Math.multiplyHigh(upper, number) + (carried >>> 63);
        return whole | (((carried & LOW_63) + LOW_63) >>> 63);
    }
}
