package dev.isthmus.transcoder.number;

import java.math.BigInteger;

/**
 * Writes finite doubles as text, as {@link FloatText} does floats, with 126 bits of the power of ten. Does not
 * allocate. The text equals {@link Double#toString}, except for some of the smallest doubles, for which that has two
 * digits although one is enough.
 */
final class DoubleText {
    private static final int MIN_POWER = -292;
    private static final int MAX_POWER = 324;
    private static final int FRACTION_BITS = 52;
    private static final long FRACTION = (1L << FRACTION_BITS) - 1;
    private static final int MIN_EXPONENT = -1074;
    private static final long LOW_63 = Long.MAX_VALUE;

    private static final long TEN_8 = 100_000_000;
    private static final long TEN_16 = TEN_8 * TEN_8;

    /** 10^n, for n from MIN_POWER, scaled to 126 bits and rounded up: the upper 63 bits, then the lower. */
    private static final long[] POWERS = new long[2 * (MAX_POWER - MIN_POWER + 1)];

    private static final long[] TENS = new long[18];

    static {
        for (int n = MIN_POWER; n <= MAX_POWER; n++) {
            BigInteger scaled = ShortestDecimal.power(n, 126);
            POWERS[2 * (n - MIN_POWER)] = scaled.shiftRight(63).longValueExact();
            POWERS[2 * (n - MIN_POWER) + 1] = scaled.longValue() & LOW_63;
        }
        TENS[0] = 1;
        for (int i = 1; i < TENS.length; i++) {
            TENS[i] = 10 * TENS[i - 1];
        }
    }

    private DoubleText() {}

    /**
     * Writes a double.
     *
     * @param bits the bits of a finite double
     * @param to must have {@link DecimalText#MAX_BYTES} bytes from {@code at} on
     * @return the index after the last byte
     */
    static int write(long bits, byte[] to, int at) {
        int i = at;
        if (bits < 0) {
            to[i++] = '-';
        }
        long fraction = bits & FRACTION;
        int biased = (int) (bits >>> FRACTION_BITS) & 0x7ff;
        if (biased == 0) {
            return fraction == 0 ? DecimalText.zero(to, i) : shortest(fraction, MIN_EXPONENT, false, to, i);
        }
        long significand = fraction | 1L << FRACTION_BITS;
        int power = biased - 1 + MIN_EXPONENT;
        if (power <= 0 && power >= -FRACTION_BITS && (significand & ((1L << -power) - 1)) == 0) {
            // An integer below 2^53: all of its digits.
            return decimal(significand >>> -power, 0, to, i);
        }
        return shortest(significand, power, fraction == 0 && biased > 1, to, i);
    }

    /** As {@link FloatText#shortest}. */
    private static int shortest(long significand, int power, boolean narrow, byte[] to, int at) {
        long odd = significand & 1;
        int exponent = narrow ? ShortestDecimal.log10OfThreeQuarters(power) : ShortestDecimal.log10OfPower2(power);
        int scale = power + ShortestDecimal.log2OfPower10(-exponent) + 2;
        int ten = 2 * (-exponent - MIN_POWER);
        long middle = 4 * significand;
        long value = scaled(middle << scale, ten);
        long min = scaled((narrow ? middle - 1 : middle - 2) << scale, ten) + odd;
        long max = scaled((middle + 2) << scale, ten) - odd;
        return decimal(ShortestDecimal.within(value, min, max), exponent, to, at);
    }

    /** number x 10^n / 2^127, truncated; the last bit is set if the result is inexact. */
    private static long scaled(long number, int ten) {
        long upper = POWERS[ten];
        long carried = ((upper * number) >>> 1) + Math.multiplyHigh(POWERS[ten + 1], number);
        long whole = Math.multiplyHigh(upper, number) + (carried >>> 63);
        return whole | (((carried & LOW_63) + LOW_63) >>> 63);
    }

    /** Writes {@code number x 10^exponent}; the number has at most 17 digits. */
    private static int decimal(long number, int exponent, byte[] to, int at) {
        // Padded to seventeen digits, with the first one separate.
        int near = ((64 - Long.numberOfLeadingZeros(number)) * 1233) >>> 12;
        int length = near + (number >= TENS[near] ? 1 : 0);
        long seventeen = number * TENS[17 - length];
        long first = seventeen / TEN_16;
        long rest = seventeen - first * TEN_16;
        long upper = rest / TEN_8;
        long lower = rest - upper * TEN_8;
        return DecimalText.write(first, EightDigits.of(upper), EightDigits.of(lower), length + exponent, to, at);
    }
}
