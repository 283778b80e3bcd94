package dev.isthmus.transcoder.number;

/** Eight decimal digits at a time, in a long: the first is the lowest byte, as they stand in memory. */
final class EightDigits {
    private static final long ZEROS = 0x3030303030303030L;

    private EightDigits() {}

    /** Eight characters, each the value of its digit if it is one. */
    static long read(byte[] text, int at) {
        return (long) ArrayView.LONGS.get(text, at) ^ ZEROS;
    }

    /** How many of eight are digits, from the first on. */
    static int count(long eight) {
        return length(others(eight));
    }

    /** The highest bit of each of eight that is no digit; behind one that is not ASCII, digits may have it, too. */
    static long others(long eight) {
        return ((eight + 0x7676767676767676L) | eight) & 0x8080808080808080L;
    }

    /** How many are before the first of those that {@link #others} found; 8 where it found none. */
    static int length(long others) {
        return Long.numberOfTrailingZeros(others) >>> 3;
    }

    /** Those before the first of those that {@link #others} found, and zeros behind them. */
    static long before(long eight, long others) {
        return eight & (((others & -others) >>> 7) - 1);
    }

    /** The number that the first of eight are, 0 to 8 digits: zeros are put before them, then pairs and fours are joined. */
    static long value(long eight, int digits) {
        // In two halves: to shift by 64 is to shift by nothing.
        int half = 32 - (digits << 2);
        return value(eight << half << half);
    }

    /** The number that all eight are. */
    static long value(long all) {
        long pairs = all * 10 + (all >>> 8);
        long even = (pairs & 0x000000ff000000ffL) * (100L + (1_000_000L << 32));
        long odd = ((pairs >>> 16) & 0x000000ff000000ffL) * (1L + (10_000L << 32));
        return (even + odd) >>> 32;
    }

    /** The digits of a number below 10^8, with zeros before it. */
    static long of(long value) {
        long four = (value * 109_951_163) >>> 40;
        long fours = four | ((value - 10_000 * four) << 32);
        long two = ((fours * 10_486) >>> 20) & 0x0000007f_0000007fL;
        long twos = two | ((fours - 100 * two) << 16);
        long one = ((twos * 103) >>> 10) & 0x000f_000f_000f_000fL;
        return one | ((twos - 10 * one) << 8);
    }

    /** Writes eight characters, of digits as they are above. */
    static void write(long eight, byte[] to, int at) {
        ArrayView.LONGS.set(to, at, eight | ZEROS);
    }
}
