package dev.isthmus.transcoder.number;

import dev.isthmus.oip.DataType;
import io.netty.buffer.ByteBuf;

/**
 * Reads consecutive plain numbers of an array, eight bytes at a time. A plain number follows a comma, is valid JSON,
 * has at most 18 digits, or 24 if it is a float ({@link UnitFloats}), and is interpreted alike by all servers. The
 * first other number is left to the tokenizer.
 */
public final class NumberRun {
    /** The bytes, of any value, that the window must have after its end, because they may be read. */
    public static final int PADDING = 96;

    /** The maximum length of a plain number, in characters. */
    public static final int LONGEST = 64;

    private static final int ELEMENTS = 512;
    private static final int NOT_PLAIN = -1;

    /** The floats read the general way before {@link UnitFloats} is tried again. */
    private static final int MIXED = 16;

    private final DataType type;
    private final int maxElements;
    private final byte[] elements;
    private final PlainNumber number = new PlainNumber();
    private final UnitFloats units;
    private final OctetPairReader pairs = new OctetPairReader();
    private int position;

    /**
     * A reader of one tensor's numbers.
     *
     * @param type one for which {@link #takes} is true
     * @param expected the expected elements, which limit the size of the block read at once
     */
    public NumberRun(DataType type, long expected) {
        this.type = type;
        this.maxElements = Math.clamp(expected, 1, ELEMENTS);
        this.elements = new byte[maxElements * type.size()];
        this.units = new UnitFloats(type == DataType.FP32 ? maxElements : 0);
    }

    /** Whether numbers of this type are supported. */
    public static boolean takes(DataType type) {
        return switch (type) {
            case FP32, FP64, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64 -> true;
            default -> false;
        };
    }

    /**
     * Reads plain numbers that are complete in the window.
     *
     * @param at the index after a value
     * @param end the end of the data in the window, followed by {@link #PADDING}
     * @param to receives the elements in raw form
     * @return the number of elements read; {@link #position()} is after the last
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

    /** The index in the window after the last number read. */
    public int position() {
        return position;
    }

    private int floats(byte[] window, int start, int end) {
        int count = 0;
        int until;
        position = start;
        do {
            int known = units.read(window, position, end, elements, count);
            until = Math.min(maxElements, known + MIXED);
            count = anyFloats(window, units.position(), end, known, until);
        } while (count == until && count < maxElements);
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
            // Some servers read -0 as an integer.
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
        while (count < maxElements) {
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

    /** Reads integers after the first {@code before} elements. */
    private int integers(byte[] window, int start, int end, int before, boolean signed) {
        int bits = 8 * type.size();
        long largest = signed ? (1L << (bits - 1)) - 1 : bits == 64 ? Long.MAX_VALUE : (1L << bits) - 1;
        int count = before;
        int at = start;
        while (count < maxElements) {
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

    /** The start of the number after the comma expected here; {@code end} if there is none. */
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

    /** Whether a number was read, and the byte that ends it was received. */
    private static boolean complete(byte[] window, int begin, int next, int end) {
        return begin < end && next > NOT_PLAIN && next < end && ends(window[next]);
    }

    static boolean ends(byte c) {
        return c == ',' || c == ']' || c == ' ' || c == '\n' || c == '\r' || c == '\t';
    }

    /**
     * Reads an unsigned JSON number of at most 18 digits, eight bytes at a time. One instance reads one number at a time.
     * Accesses at most 80 bytes; those after the number may have any value.
     */
    private static final class PlainNumber {
        private static final int MAX_ZEROS = 16;
        private long significand;
        private int exponent;

        /** The digits as an integer. */
        long significand() {
            return significand;
        }

        /** The nearest float; NaN if it cannot be decided here. */
        float toFloat() {
            return DecimalConversion.toFloat(significand, exponent);
        }

        /** The nearest double; NaN if it cannot be decided here. */
        double toDouble() {
            return DecimalConversion.toDouble(significand, exponent);
        }

        /** Reads a number; returns the index after it, or -1 if there is none or it is not plain. */
        int read(byte[] window, int start) {
            int at;
            if (window[start + 1] == '.') {
                significand = (long) window[start] - '0';
                at = significand >= 0 && significand <= 9 ? start + 1 : NOT_PLAIN;
            } else {
                at = readInteger(window, start);
            }
            if (at < 0) {
                return NOT_PLAIN;
            }
            exponent = 0;
            if (window[at] == '.') {
                int begin = at + 1;
                at = fraction(window, begin, significand == 0 ? 0 : at - start);
                exponent = begin - at;
            }
            return at >= 0 && (window[at] | 0x20) == 'e' ? power(window, at + 1) : at;
        }

        /**
         * Reads an integer without leading zeros; returns the index after it, or -1 if there is none or it is not plain.
         */
        int readInteger(byte[] window, int start) {
            long eight = EightDigits.read(window, start);
            int digits = EightDigits.count(eight);
            if (digits == 0 || (digits > 1 && (eight & 0xff) == 0)) {
                return NOT_PLAIN;
            }
            if (digits < 8) {
                significand = EightDigits.value(eight, digits);
                return start + digits;
            }
            long second = EightDigits.read(window, start + 8);
            int further = EightDigits.count(second);
            significand = EightDigits.value(eight) * ShortestDecimal.TENS[further] + EightDigits.value(second, further);
            return further < 8 ? start + 8 + further : more(window, start + 16, DecimalConversion.MAX_DIGITS - 16);
        }

        /** Reads the digits after the point. */
        private int fraction(byte[] window, int start, int before) {
            long first = EightDigits.read(window, start);
            int digits = EightDigits.count(first);
            if (digits < 8) {
                significand = significand * ShortestDecimal.TENS[digits] + EightDigits.value(first, digits);
                return digits > 0 && before + digits <= DecimalConversion.MAX_DIGITS ? start + digits : NOT_PLAIN;
            }
            // Both at once, whatever the length of the second: a branch per length would be mispredicted too often.
            long second = EightDigits.read(window, start + 8);
            int further = EightDigits.count(second);
            if (before + 8 + further > DecimalConversion.MAX_DIGITS) {
                return withoutZeros(window, start, before);
            }
            significand =
                    (significand * ShortestDecimal.TENS[8] + EightDigits.value(first)) * ShortestDecimal.TENS[further]
                            + EightDigits.value(second, further);
            if (further < 8) {
                return start + 8 + further;
            }
            int end = more(window, start + 16, DecimalConversion.MAX_DIGITS - 16 - before);
            return end < 0 ? withoutZeros(window, start, before) : end;
        }

        /** Reads the digits after the point if only leading zeros make them too many. */
        private int withoutZeros(byte[] window, int start, int before) {
            if (before > 0) {
                return NOT_PLAIN;
            }
            int at = start;
            while (window[at] == '0' && at - start < MAX_ZEROS) {
                at++;
            }
            significand = 0;
            return more(window, at, DecimalConversion.MAX_DIGITS);
        }

        /** Reads more digits, eight at a time. */
        private int more(byte[] window, int start, int max) {
            int at = start;
            int left = max;
            int digits;
            do {
                long eight = EightDigits.read(window, at);
                digits = EightDigits.count(eight);
                left -= digits;
                if (left < 0) {
                    return NOT_PLAIN;
                }
                significand = significand * ShortestDecimal.TENS[digits] + EightDigits.value(eight, digits);
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
            long eight = EightDigits.read(window, at);
            int digits = EightDigits.count(eight);
            if (digits == 0 || digits > 4) {
                return NOT_PLAIN;
            }
            int power = (int) EightDigits.value(eight, digits);
            exponent += minus ? -power : power;
            return at + digits;
        }
    }
}
