package dev.isthmus.transcoder.number;

/** Processes eight decimal digits in a long, the first one in the lowest byte. */
final class EightDigits {
    private static final long ZEROS = 0x3030303030303030L;
    private static final long COMMAS = 0x2c2c2c2c2c2c2c2cL;
    private static final long ONES = 0x0101010101010101L;
    private static final long TOP_BITS = 0x8080808080808080L;

    private EightDigits() {}

    /** Eight characters, each digit as its value. */
    static long read(byte[] text, int at) {
        return (long) ArrayView.LONGS.get(text, at) ^ ZEROS;
    }

    /** The number of leading digits. */
    static int count(long eight) {
        return length(others(eight));
    }

    /** The highest bit of each byte that is not a digit; after a non-ASCII byte it may be set for digits too. */
    static long others(long eight) {
        return ((eight + 0x7676767676767676L) | eight) & TOP_BITS;
    }

    /** The number of bytes before the first one found by {@link #others}; 8 if there is none. */
    static int length(long others) {
        return Long.numberOfTrailingZeros(others) >>> 3;
    }

    /** The number of bytes before the first comma; 8 if there is none. */
    static int commaAt(byte[] text, int at) {
        long other = (long) ArrayView.LONGS.get(text, at) ^ COMMAS;
        return length((other - ONES) & ~other & TOP_BITS);
    }

    /** The bytes before the first one found by {@link #others}, followed by zeros. */
    static long before(long eight, long others) {
        return eight & (((others & -others) >>> 7) - 1);
    }

    /** The value of the first 0 to 8 digits: shifts in leading zeros, then joins pairs and groups of four. */
    static long value(long eight, int digits) {
        // Two shifts, because shifting by 64 does nothing.
        int half = 32 - (digits << 2);
        return value(eight << half << half);
    }

    static long value(long all) {
        long pairs = all * 10 + (all >>> 8);
        long even = (pairs & 0x000000ff000000ffL) * (100L + (1_000_000L << 32));
        long odd = ((pairs >>> 16) & 0x000000ff000000ffL) * (1L + (10_000L << 32));
        return (even + odd) >>> 32;
    }

    /** Replaces eight digits each by their value. In place: only then does the compiler vectorize it. */
    static void values(long[] digits, int count) {
        for (int i = 0; i < count; i++) {
            long twos = ((digits[i] * (1 + (10 << 8))) >>> 8) & 0x00ff00ff00ff00ffL;
            long fours = ((twos * (1 + (100 << 16))) >>> 16) & 0x0000ffff0000ffffL;
            digits[i] = (fours * (1 + (10_000L << 32))) >>> 32;
        }
    }

    /** The digits of a number below 10^8, with leading zeros. */
    static long of(long value) {
        long four = (value * 109_951_163) >>> 40;
        long fours = four | ((value - 10_000 * four) << 32);
        long two = ((fours * 10_486) >>> 20) & 0x0000007f_0000007fL;
        long twos = two | ((fours - 100 * two) << 16);
        long one = ((twos * 103) >>> 10) & 0x000f_000f_000f_000fL;
        return one | ((twos - 10 * one) << 8);
    }

    /** Writes eight digits as characters. */
    static void write(long eight, byte[] to, int at) {
        ArrayView.LONGS.set(to, at, eight | ZEROS);
    }
}
