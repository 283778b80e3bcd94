package dev.isthmus.transcoder.json;

import dev.isthmus.transcoder.number.ArrayView;

/**
 * Which of 64 bytes are digits, commas and so on: a long for each kind, with one bit for each byte. The bit of byte
 * {@code 8 w + b} is {@code 8 b + w}, because transposing the bits of eight words gives this order; {@link #inOrder}
 * gives the bytes' own.
 */
final class BytePlanes {
    /** The bytes that are classified together. */
    static final int BYTES = 64;

    private static final long THREES = 0x3333_3333_3333_3333L;

    long digit;
    long zero;
    long comma;
    long point;
    long minus;
    long space;
    /** The bytes of no other kind; all planes are undefined if {@link #foreign} is not 0. */
    long invalid;
    /** Not 0 if a byte is outside of 0x20 to 0x3f. */
    long foreign;

    /** Classifies the bytes at this index of the window. */
    void read(byte[] window, int at) {
        long w0 = (long) ArrayView.LONGS.get(window, at);
        long w1 = (long) ArrayView.LONGS.get(window, at + 8);
        long w2 = (long) ArrayView.LONGS.get(window, at + 16);
        long w3 = (long) ArrayView.LONGS.get(window, at + 24);
        long w4 = (long) ArrayView.LONGS.get(window, at + 32);
        long w5 = (long) ArrayView.LONGS.get(window, at + 40);
        long w6 = (long) ArrayView.LONGS.get(window, at + 48);
        long w7 = (long) ArrayView.LONGS.get(window, at + 56);
        // Bits 4 to 7 of each byte of two words; both are 0011 for a digit, and 0010 for what else is expected.
        long t0 = ((w0 >>> 4) ^ w4) & 0x0f0f_0f0f_0f0f_0f0fL;
        long t1 = ((w1 >>> 4) ^ w5) & 0x0f0f_0f0f_0f0f_0f0fL;
        long t2 = ((w2 >>> 4) ^ w6) & 0x0f0f_0f0f_0f0f_0f0fL;
        long t3 = ((w3 >>> 4) ^ w7) & 0x0f0f_0f0f_0f0f_0f0fL;
        long h0 = w4 ^ t0 ^ THREES;
        long h1 = w5 ^ t1 ^ THREES;
        long h2 = w6 ^ t2 ^ THREES;
        long h3 = w7 ^ t3 ^ THREES;
        foreign = (h0 | h1 | h2 | h3) & ~0x1111_1111_1111_1111L;
        long other = h0 | (h1 << 1) | (h2 << 2) | (h3 << 3);
        // Bits 0 to 3 of each byte of two words.
        transpose(w0 ^ (t0 << 4), w1 ^ (t1 << 4), w2 ^ (t2 << 4), w3 ^ (t3 << 4), other);
    }

    private void transpose(long w0, long w1, long w2, long w3, long other) {
        long t0 = ((w0 >>> 2) ^ w2) & THREES;
        long t1 = ((w1 >>> 2) ^ w3) & THREES;
        long low0 = w0 ^ (t0 << 2);
        long low1 = w1 ^ (t1 << 2);
        long high0 = w2 ^ t0;
        long high1 = w3 ^ t1;
        long low = ((low0 >>> 1) ^ low1) & 0x5555_5555_5555_5555L;
        long high = ((high0 >>> 1) ^ high1) & 0x5555_5555_5555_5555L;
        classify(low0 ^ (low << 1), low1 ^ low, high0 ^ (high << 1), high1 ^ high, other);
    }

    /** Bits 0 to 3 of the bytes, and which are in the range from 0x20 to 0x2f; the others are from 0x30 to 0x3f. */
    private void classify(long bit0, long bit1, long bit2, long bit3, long other) {
        long low = bit0 | bit1;
        long any = low | bit2 | bit3;
        // 0x2c to 0x2f: comma, minus, point, slash.
        long mark = other & bit2 & bit3;
        comma = mark & ~low;
        minus = mark & bit0;
        point = mark & bit1;
        space = other & ~any;
        zero = ~(other | any);
        digit = ~(other | (bit3 & (bit1 | bit2)));
        invalid = ~(digit | mark | space) | (minus & point);
    }

    /**
     * The bytes after those of a plane.
     *
     * @param before 1 if the byte before the block is one of them, otherwise 0
     */
    static long after(long plane, long before) {
        return (plane << 8) | ((plane >>> 55) & 0xfe) | before;
    }

    /** 1 if the last byte is one of them, otherwise 0; the same in both orders. */
    static long last(long plane) {
        return plane >>> 63;
    }

    /** The plane with the bit of byte {@code i} at {@code i}. */
    static long inOrder(long plane) {
        long ones = (plane ^ (plane >>> 7)) & 0x00aa_00aa_00aa_00aaL;
        long x = plane ^ ones ^ (ones << 7);
        long twos = (x ^ (x >>> 14)) & 0x0000_cccc_0000_ccccL;
        x ^= twos ^ (twos << 14);
        long fours = (x ^ (x >>> 28)) & 0x0000_0000_f0f0_f0f0L;
        return x ^ fours ^ (fours << 28);
    }
}
