package dev.isthmus.transcoder.rest;

import java.math.BigInteger;

/**
 * Finite floats as text, without garbage: the fewest digits that read back to the same float, and of those the nearest; in
 * the form of {@link Float#toString}. The algorithm is Schubfach (R. Giulietti, The Schubfach way to render doubles, 2020)
 * with 63 bits of the power of ten, which are enough for floats.
 */
final class FloatText {
    /** Bytes that may be written to for one float; of them it takes at most 15: -1.23456789E-38. */
    static final int MAX_BYTES = 24;

    private static final int LEAST_POWER = -32;
    private static final int MOST_POWER = 45;

    /** 10^n, n from LEAST_POWER, scaled to 63 bits and rounded up. */
    private static final long[] POWERS = new long[MOST_POWER - LEAST_POWER + 1];

    private static final long[] TENS = {
        1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000
    };

    private static final int ZERO_POINT_ZEROS = '0' | '.' << 8 | '0' << 16 | '0' << 24;

    static {
        for (int n = LEAST_POWER; n <= MOST_POWER; n++) {
            BigInteger power = BigInteger.TEN.pow(Math.abs(n));
            int length = log2OfPower10(n) + 1;
            // 10^n / 2^(length - 63), in [2^62, 2^63)
            BigInteger scaled = n >= 0
                    ? power.shiftLeft(200).shiftRight(200 + length - 63)
                    : BigInteger.ONE.shiftLeft(63 - length).divide(power);
            POWERS[n - LEAST_POWER] = scaled.longValueExact() + 1;
        }
    }

    private FloatText() {}

    /** floor(n log2 10) */
    private static int log2OfPower10(int n) {
        return (int) ((n * 913_124_641_741L) >> 38);
    }

    /** floor(n log10 2) */
    private static int log10OfPower2(int n) {
        return (int) ((n * 661_971_961_083L) >> 41);
    }

    /** floor(log10(3/4 2^n)) */
    private static int log10OfThreeQuarters(int n) {
        return (int) ((n * 661_971_961_083L - 274_743_187_321L) >> 41);
    }

    /**
     * Writes a float.
     *
     * @param bits of a finite one
     * @param to has room for {@link #MAX_BYTES} from {@code at} on
     * @return behind the last byte
     */
    static int write(int bits, byte[] to, int at) {
        int i = at;
        if (bits < 0) {
            to[i++] = '-';
        }
        int fraction = bits & 0x7f_ffff;
        int biased = (bits >>> 23) & 0xff;
        if (biased == 0) {
            return fraction == 0 ? zero(to, i) : shortest(fraction, -149, false, to, i);
        }
        int significand = fraction | 0x80_0000;
        int power = biased - 150;
        if (power <= 0 && power > -24 && (significand & ((1 << -power) - 1)) == 0) {
            // An integer below 2^24: all of its digits.
            int whole = significand >>> -power;
            return decimal(whole, 0, to, i);
        }
        return shortest(significand, power, fraction == 0 && biased > 1, to, i);
    }

    /**
     * Finds the shortest decimal in the interval that rounds to the float: one of four candidates, two of one digit fewer.
     *
     * @param narrow whether the float below is nearer than the one above
     */
    private static int shortest(int significand, int power, boolean narrow, byte[] to, int at) {
        int odd = significand & 1;
        int exponent = narrow ? log10OfThreeQuarters(power) : log10OfPower2(power);
        // The interval's ends and the float, four times, over 10^exponent: integers, with the last bit set where
        // something was cut off.
        int scale = power + log2OfPower10(-exponent) + 2;
        long ten = POWERS[-exponent - LEAST_POWER];
        long middle = 4L * significand;
        long value = scaled(middle, ten, scale);
        long least = scaled(narrow ? middle - 1 : middle - 2, ten, scale) + odd;
        long most = scaled(middle + 2, ten, scale) - odd;

        long down = value >>> 2;
        long downTen = down / 10 * 10;
        boolean lowTen = least <= downTen << 2;
        boolean highTen = (downTen + 10) << 2 <= most;
        if (down >= 10 && lowTen != highTen) {
            return decimal((int) (lowTen ? downTen : downTen + 10), exponent, to, at);
        }
        boolean low = least <= down << 2;
        boolean high = (down + 1) << 2 <= most;
        boolean up;
        if (low == high) {
            long half = value - (4 * down + 2);
            up = half > 0 || (half == 0 && (down & 1) == 1);
        } else {
            up = high;
        }
        return decimal((int) (up ? down + 1 : down), exponent, to, at);
    }

    /** number x ten x 2^(scale - 64), cut off; the last bit tells whether anything was. */
    private static long scaled(long number, long ten, int scale) {
        long shifted = number << scale;
        long whole = Math.multiplyHigh(ten, shifted);
        long rest = (ten * shifted) >>> 33;
        return rest == 0 ? whole : whole | 1;
    }

    private static int zero(byte[] to, int at) {
        ArrayView.INTS.set(to, at, ZERO_POINT_ZEROS);
        return at + 3;
    }

    /** Writes {@code number x 10^exponent}; the number has at most nine digits. */
    private static int decimal(int number, int exponent, byte[] to, int at) {
        // Nine digits, the first apart, by zeros behind them.
        int length = length(number);
        long nine = number * TENS[9 - length];
        long first = nine / 100_000_000;
        long eight = EightDigits.of(nine - 100_000_000 * first);
        int digits = 9 - (Long.numberOfLeadingZeros(eight) >>> 3);
        // Where the point stands: 0.digits x 10^point
        int point = length + exponent;
        if (point > 0 && point <= 7) {
            return mixed(first, eight, digits, point, to, at);
        }
        return point > -3 && point <= 0
                ? fraction(first, eight, digits, point, to, at)
                : scientific(first, eight, digits, point, to, at);
    }

    /** How many digits a number of 1 to 9 has. */
    private static int length(int number) {
        int near = ((32 - Integer.numberOfLeadingZeros(number)) * 1233) >>> 12;
        return near + (int) ((TENS[near] - 1 - number) >>> 63);
    }

    /** 0.00123 */
    private static int fraction(long first, long eight, int digits, int point, byte[] to, int at) {
        ArrayView.INTS.set(to, at, ZERO_POINT_ZEROS);
        int i = at + 2 - point;
        to[i] = (byte) ('0' + first);
        EightDigits.write(eight, to, i + 1);
        return i + digits;
    }

    /** 1.23, 1230.0: the digits before the point stay where they are, those behind it move by one. */
    private static int mixed(long first, long eight, int digits, int point, byte[] to, int at) {
        to[at] = (byte) ('0' + first);
        EightDigits.write(eight, to, at + 1);
        EightDigits.write(eight >>> ((point - 1) << 3), to, at + point + 1);
        to[at + point] = '.';
        return at + 1 + Math.max(digits, point + 1);
    }

    /** 1.23E-20 */
    private static int scientific(long first, long eight, int digits, int point, byte[] to, int at) {
        int i = mixed(first, eight, digits, 1, to, at);
        to[i++] = 'E';
        int power = point - 1;
        if (power < 0) {
            to[i++] = '-';
            power = -power;
        }
        if (power >= 10) {
            to[i++] = (byte) ('0' + power / 10);
        }
        to[i++] = (byte) ('0' + power % 10);
        return i;
    }
}
