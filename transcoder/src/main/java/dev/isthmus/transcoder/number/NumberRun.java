package dev.isthmus.transcoder.number;

import dev.isthmus.oip.DataType;
import io.netty.buffer.ByteBuf;

/**
 * Reads plain numbers that follow each other in an array, eight bytes at a time: each behind a comma, in the grammar of JSON,
 * of at most 18 digits, or 24 where it is a float ({@link UnitFloats}), and such that no server reads it differently. The
 * first that is not is left to the tokenizer, which takes or refuses it.
 */
public final class NumberRun {
    /** So many bytes behind the end must be in the window, of whatever value: they may be looked at. */
    public static final int PADDING = 96;

    /** No number of more characters is taken. */
    public static final int LONGEST = 64;

    private static final int ELEMENTS = 512;
    private static final int NOT_PLAIN = -1;

    /** So many floats are read as any before the next is tried as one of the kind that most are. */
    private static final int MIXED = 16;

    private final DataType type;
    private final int most;
    private final byte[] elements;
    private final PlainNumber number = new PlainNumber();
    private final UnitFloats units = new UnitFloats();
    private final OctetPairs pairs = new OctetPairs();
    private int position;

    /**
     * A reader of one tensor's numbers.
     *
     * @param type one that {@link #takes} says
     * @param expected elements; room is made for no more than these at once
     */
    public NumberRun(DataType type, long expected) {
        this.type = type;
        this.most = Math.clamp(expected, 1, ELEMENTS);
        this.elements = new byte[most * type.size()];
    }

    /** Whether numbers of this type are read here. */
    public static boolean takes(DataType type) {
        return switch (type) {
            case FP32, FP64, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64 -> true;
            default -> false;
        };
    }

    /**
     * Reads what is plain, and complete within the window.
     *
     * @param at behind a value
     * @param end of what there is in the window; {@link #PADDING} is behind it
     * @param to gets the elements in raw form
     * @return how many; {@link #position()} is behind the last
     */
    public int read(byte[] window, int at, int end, ByteBuf to) {
        int count = switch (type) {
            case FP32 -> floats(window, at, end);
            case FP64 -> doubles(window, at, end);
            case UINT8 -> octets(window, at, end);
            case UINT16, UINT32, UINT64 -> integers(window, at, end, 0, false);
            default -> integers(window, at, end, 0, true);
        };
        to.writeBytes(elements, 0, count * type.size());
        return count;
    }

    public int position() {
        return position;
    }

    private int floats(byte[] window, int start, int end) {
        int count = 0;
        int until;
        position = start;
        do {
            int known = units.read(window, position, end, elements, count);
            until = Math.min(most, known + MIXED);
            count = anyFloats(window, units.position(), end, known, until);
        } while (count == until && count < most);
        return count;
    }

    private int anyFloats(byte[] window, int start, int end, int before, int until) {
        int count = before;
        int at = start;
        while (count < until) {
            int begin = begin(window, at, end);
            int sign = window[begin] == '-' ? 1 : 0;
            int next = number.read(window, begin + sign);
            if (!complete(window, begin, next, end)) {
                break;
            }
            float value = number.toFloat();
            // To some, -0 is an integer.
            if (Float.isNaN(value) || (value == 0 && sign > 0 && next == begin + 2)) {
                break;
            }
            ArrayView.INTS.set(elements, 4 * count, Float.floatToRawIntBits(value) | sign << 31);
            count++;
            at = next;
        }
        position = at;
        return count;
    }

    private int doubles(byte[] window, int start, int end) {
        int count = 0;
        int at = start;
        while (count < most) {
            int begin = begin(window, at, end);
            int sign = window[begin] == '-' ? 1 : 0;
            int next = number.read(window, begin + sign);
            if (!complete(window, begin, next, end)) {
                break;
            }
            double value = number.toDouble();
            if (Double.isNaN(value) || (value == 0 && sign > 0 && next == begin + 2)) {
                break;
            }
            ArrayView.LONGS.set(elements, 8 * count, Double.doubleToRawLongBits(value) | (long) sign << 63);
            count++;
            at = next;
        }
        position = at;
        return count;
    }

    private int octets(byte[] window, int start, int end) {
        int count = pairs.read(window, start, end, elements);
        return integers(window, pairs.position(), end, count, false);
    }

    /** Reads integers behind so many that have been read. */
    private int integers(byte[] window, int start, int end, int before, boolean signed) {
        int bits = 8 * type.size();
        long largest = signed ? (1L << (bits - 1)) - 1 : bits == 64 ? Long.MAX_VALUE : (1L << bits) - 1;
        int count = before;
        int at = start;
        while (count < most) {
            int begin = begin(window, at, end);
            int sign = signed && window[begin] == '-' ? 1 : 0;
            int next = number.readInteger(window, begin + sign);
            long value = number.significand();
            if (!complete(window, begin, next, end) || value > largest) {
                break;
            }
            put(count, (value ^ -sign) + sign);
            count++;
            at = next;
        }
        position = at;
        return count;
    }

    private void put(int index, long value) {
        switch (type.size()) {
            case 1 -> elements[index] = (byte) value;
            case 2 -> ArrayView.SHORTS.set(elements, 2 * index, (short) value);
            case 4 -> ArrayView.INTS.set(elements, 4 * index, (int) value);
            default -> ArrayView.LONGS.set(elements, 8 * index, value);
        }
    }

    /** Where a number begins behind the comma that is expected here; the end where there is none. */
    private static int begin(byte[] window, int at, int end) {
        if (at >= end || window[at] != ',') {
            return end;
        }
        int i = at + 1;
        while (i < end && window[i] == ' ') {
            i++;
        }
        return i;
    }

    /** Whether a number was read, and what ends it has come, too. */
    private static boolean complete(byte[] window, int begin, int next, int end) {
        return begin < end && next > NOT_PLAIN && next < end && ends(window[next]);
    }

    static boolean ends(byte c) {
        return c == ',' || c == ']' || c == ' ' || c == '\n' || c == '\r' || c == '\t';
    }
}
