package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.DataType;
import io.netty.buffer.ByteBuf;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * Reads plain numbers that follow each other in an array, eight bytes at a time: each behind a comma, in the grammar of JSON,
 * of at most 18 digits, and such that no server reads it differently. The first that is not is left to the tokenizer, which
 * takes or refuses it.
 */
final class NumberRun {
    /** A number is only looked at where so much of the document follows: it and what ends it are complete then. */
    static final int MARGIN = 64;

    private static final VarHandle LONGS = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    private static final VarHandle INTS = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
    private static final VarHandle SHORTS =
            MethodHandles.byteArrayViewVarHandle(short[].class, ByteOrder.LITTLE_ENDIAN);

    private static final int ELEMENTS = 512;
    private static final long ZEROS = 0x3030303030303030L;
    private static final long[] TENS = {1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000};
    private static final int MAX_ZEROS = 16;
    private static final int NOT_PLAIN = -1;

    private final DataType type;
    private final byte[] elements;
    private int position;
    private long significand;
    private int exponent;

    /** @param type one that {@link #takes} says */
    NumberRun(DataType type) {
        this.type = type;
        this.elements = new byte[ELEMENTS * type.size()];
    }

    /** Whether numbers of this type are read here. */
    static boolean takes(DataType type) {
        return switch (type) {
            case FP32, FP64, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64 -> true;
            default -> false;
        };
    }

    /**
     * Reads what is plain.
     *
     * @param at behind a value
     * @param end of what there is in the window
     * @param to gets the elements in raw form
     * @return how many; {@link #position()} is behind the last
     */
    int read(byte[] window, int at, int end, ByteBuf to) {
        int count = switch (type) {
            case FP32 -> floats(window, at, end - MARGIN);
            case FP64 -> doubles(window, at, end - MARGIN);
            case UINT8, UINT16, UINT32, UINT64 -> integers(window, at, end - MARGIN, false);
            default -> integers(window, at, end - MARGIN, true);
        };
        to.writeBytes(elements, 0, count * type.size());
        return count;
    }

    int position() {
        return position;
    }

    private int floats(byte[] window, int start, int last) {
        int count = 0;
        int at = start;
        while (count < ELEMENTS && at <= last) {
            int begin = begin(window, at, last);
            boolean negative = begin >= 0 && window[begin] == '-';
            int next = begin < 0 ? NOT_PLAIN : number(window, negative ? begin + 1 : begin);
            float value = next < 0 ? Float.NaN : Decimals.toFloat(significand, exponent);
            // A zero with a minus may be one that was written as an integer.
            if (Float.isNaN(value) || (negative && significand == 0)) {
                break;
            }
            INTS.set(elements, 4 * count, Float.floatToRawIntBits(negative ? -value : value));
            count++;
            at = next;
        }
        position = at;
        return count;
    }

    private int doubles(byte[] window, int start, int last) {
        int count = 0;
        int at = start;
        while (count < ELEMENTS && at <= last) {
            int begin = begin(window, at, last);
            boolean negative = begin >= 0 && window[begin] == '-';
            int next = begin < 0 ? NOT_PLAIN : number(window, negative ? begin + 1 : begin);
            double value = next < 0 ? Double.NaN : Decimals.toDouble(significand, exponent);
            if (Double.isNaN(value)) {
                break;
            }
            LONGS.set(elements, 8 * count, Double.doubleToRawLongBits(negative ? -value : value));
            count++;
            at = next;
        }
        position = at;
        return count;
    }

    private int integers(byte[] window, int start, int last, boolean signed) {
        int bits = 8 * type.size();
        long most = signed ? (1L << (bits - 1)) - 1 : bits == 64 ? Long.MAX_VALUE : (1L << bits) - 1;
        int count = 0;
        int at = start;
        while (count < ELEMENTS && at <= last) {
            int begin = begin(window, at, last);
            boolean negative = begin >= 0 && window[begin] == '-';
            int next = begin < 0 ? NOT_PLAIN : integer(window, negative ? begin + 1 : begin);
            if (next < 0 || significand > most || (negative && !signed) || !ends(window[next])) {
                break;
            }
            put(count, negative ? -significand : significand);
            count++;
            at = next;
        }
        position = at;
        return count;
    }

    private void put(int index, long value) {
        switch (type.size()) {
            case 1 -> elements[index] = (byte) value;
            case 2 -> SHORTS.set(elements, 2 * index, (short) value);
            case 4 -> INTS.set(elements, 4 * index, (int) value);
            default -> LONGS.set(elements, 8 * index, value);
        }
    }

    /** Where a number begins behind the comma that is expected here. */
    private static int begin(byte[] window, int at, int last) {
        if (window[at] != ',') {
            return NOT_PLAIN;
        }
        int i = at + 1;
        while (window[i] == ' ' && i < last) {
            i++;
        }
        return i <= last ? i : NOT_PLAIN;
    }

    private static boolean ends(byte c) {
        return c == ',' || c == ']' || c == ' ' || c == '\n' || c == '\r' || c == '\t';
    }

    /** Reads a number without its sign, and gives the place behind it. */
    private int number(byte[] window, int start) {
        int at = integer(window, start);
        if (at < 0) {
            return NOT_PLAIN;
        }
        int digits = significand == 0 ? 0 : at - start;
        int scale = 0;
        if (window[at] == '.') {
            int begin = at + 1;
            at = fraction(window, begin, digits);
            if (at < 0) {
                return NOT_PLAIN;
            }
            scale = begin - at;
        }
        exponent = scale;
        if ((window[at] | 0x20) == 'e') {
            at = power(window, at + 1);
        }
        return at >= 0 && ends(window[at]) ? at : NOT_PLAIN;
    }

    /** Reads an integer without sign, of at most 18 digits and without zeros before it, into the significand. */
    private int integer(byte[] window, int start) {
        if (window[start + 1] == '.' || window[start + 1] == ',') {
            int digit = window[start] - '0';
            significand = digit;
            return digit >= 0 && digit <= 9 ? start + 1 : NOT_PLAIN;
        }
        long eight = eight(window, start);
        int digits = digits(eight);
        if (digits == 0 || (digits > 1 && window[start] == '0')) {
            return NOT_PLAIN;
        }
        significand = value(eight, digits);
        return digits < 8 ? start + digits : more(window, start + 8, Decimals.MAX_DIGITS - 8);
    }

    /** Reads digits behind the point; zeros before the first other digit of the number count for nothing. */
    private int fraction(byte[] window, int start, int before) {
        int at = start;
        if (before == 0) {
            while (window[at] == '0' && at - start < MAX_ZEROS) {
                at++;
            }
        }
        long eight = eight(window, at);
        int digits = digits(eight);
        if (digits == 0) {
            return at > start ? at : NOT_PLAIN;
        }
        if (before + digits > Decimals.MAX_DIGITS) {
            return NOT_PLAIN;
        }
        significand = significand * TENS[digits] + value(eight, digits);
        return digits < 8 ? at + digits : more(window, at + 8, Decimals.MAX_DIGITS - 8 - before);
    }

    /** Reads on behind eight digits. */
    private int more(byte[] window, int start, int most) {
        int at = start;
        int left = most;
        int digits;
        do {
            long eight = eight(window, at);
            digits = digits(eight);
            left -= digits;
            if (left < 0) {
                return NOT_PLAIN;
            }
            if (digits > 0) {
                significand = significand * TENS[digits] + value(eight, digits);
            }
            at += digits;
        } while (digits == 8);
        return at;
    }

    private int power(byte[] window, int start) {
        int at = start;
        boolean minus = window[at] == '-';
        if (minus || window[at] == '+') {
            at++;
        }
        long eight = eight(window, at);
        int digits = digits(eight);
        if (digits == 0 || digits > 4) {
            return NOT_PLAIN;
        }
        int power = (int) value(eight, digits);
        exponent += minus ? -power : power;
        return at + digits;
    }

    /** Eight characters, the first lowest, each the value of its digit if it is one. */
    private static long eight(byte[] window, int at) {
        return (long) LONGS.get(window, at) ^ ZEROS;
    }

    /** How many of eight are digits, from the first on. The highest bit is set of the first that is not. */
    private static int digits(long eight) {
        long others = ((eight + 0x7676767676767676L) | eight) & 0x8080808080808080L;
        return Long.numberOfTrailingZeros(others) >>> 3;
    }

    /** The number that the first of eight are, 1 to 8 digits: zeros are put before them, then pairs and fours are joined. */
    private static long value(long eight, int digits) {
        long all = eight << ((8 - digits) << 3);
        long pairs = all * 10 + (all >>> 8);
        long even = (pairs & 0x000000ff000000ffL) * (100L + (1_000_000L << 32));
        long odd = ((pairs >>> 16) & 0x000000ff000000ffL) * (1L + (10_000L << 32));
        return (even + odd) >>> 32;
    }
}
