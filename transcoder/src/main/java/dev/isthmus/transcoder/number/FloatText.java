package dev.isthmus.transcoder.number;

/**
 * Writes finite floats as text in the form of {@link Float#toString}: the fewest digits that read back to the same
 * float, and of those the nearest. Does not allocate. {@link ShortestDecimal} has the algorithm; 63 bits of the power
 * of ten are enough for floats.
 */
final class FloatText {
    private static final int MIN_POWER = -36;
    private static final int MAX_POWER = 45;
    /** The fractional bits of a scaled number. */
    private static final long REST = 0x7fff_ffffL;

    /** 10^n, for n from MIN_POWER, scaled to 63 bits and rounded up. */
    private static final long[] POWERS = new long[MAX_POWER - MIN_POWER + 1];

    private static final long[] TENS = {
        1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000
    };

    static {
        for (int n = MIN_POWER; n <= MAX_POWER; n++) {
            POWERS[n - MIN_POWER] = ShortestDecimal.power(n, 63).longValueExact();
        }
    }

    private FloatText() {}

    /**
     * Writes a float.
     *
     * @param bits the bits of a finite float
     * @param to must have {@link DecimalText#MAX_BYTES} bytes from {@code at} on
     * @return the index after the last byte
     */
    static int write(int bits, byte[] to, int at) {
        // Overwritten if there is no sign.
        to[at] = '-';
        int i = at + (bits >>> 31);
        int fraction = bits & 0x7f_ffff;
        int biased = (bits >>> 23) & 0xff;
        if (biased == 0) {
            return fraction == 0 ? DecimalText.zero(to, i) : shortest(fraction, -149, false, to, i);
        }
        int significand = fraction | 0x80_0000;
        int power = biased - 150;
        if (Integer.numberOfTrailingZeros(significand) >= -power && power <= 0) {
            // An integer below 2^24: all of its digits.
            int whole = significand >>> -power;
            return decimal(whole, 0, to, i);
        }
        return shortest(significand, power, fraction == 0 && biased > 1, to, i);
    }

    /**
     * Writes {@code significand x 2^power} as the shortest decimal in the interval that rounds to it.
     *
     * @param significand at most 24 bits; the next value differs by one in the last bit
     * @param narrow whether the next lower float is nearer than the next higher one
     */
    static int shortest(int significand, int power, boolean narrow, byte[] to, int at) {
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
        return decimal((int) ShortestDecimal.within(value, min, max), exponent, to, at);
    }

    /** number x ten x 2^(scale - 95), truncated; the last bit is set if any of the 31 bits after it is. */
    private static long scaled(long number, long ten, int scale) {
        long product = Math.multiplyHigh(ten, number << scale);
        return (product >>> 31) | (((product & REST) + REST) >>> 31);
    }

    /** Writes {@code number x 10^exponent}; the number has at most nine digits. */
    private static int decimal(int number, int exponent, byte[] to, int at) {
        // Padded to nine digits, with the first one separate.
        int length = length(number);
        long nine = number * TENS[9 - length];
        long first = nine / 100_000_000;
        long eight = EightDigits.of(nine - 100_000_000 * first);
        return DecimalText.write(first, eight, 0, length + exponent, to, at);
    }

    /** The number of digits, 1 to 9. */
    private static int length(int number) {
        int near = ((32 - Integer.numberOfLeadingZeros(number)) * 1233) >>> 12;
        return near + (int) ((TENS[near] - 1 - number) >>> 63);
    }
}
