package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.DataType;
import io.netty.buffer.ByteBuf;

/** Writes the elements of integer and FP32 tensors as JSON numbers with commas between them, by way of a small array. */
final class NumberText {
    private static final int ROOM = 4096;
    /** A comma and the longest number: -9223372036854775808. */
    private static final int LONGEST = 21;

    private NumberText() {}

    /** Whether elements of this type are written here. */
    static boolean writes(DataType type) {
        return switch (type) {
            case FP32, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64 -> true;
            default -> false;
        };
    }

    /**
     * Writes elements as long as they are finite.
     *
     * @param data raw form
     * @param from where in it
     * @param first whether the first has no comma before it
     * @return behind the last that was written
     */
    static int write(DataType type, ByteBuf data, int from, boolean first, ByteBuf out) {
        int size = type.size();
        int end = data.writerIndex();
        byte[] text = new byte[Math.min(ROOM, (end - from) / size * LONGEST)];
        int at = from;
        boolean comma = !first;
        while (at < end && finite(type, data, at)) {
            int length = 0;
            while (at < end && length <= text.length - LONGEST && finite(type, data, at)) {
                if (comma) {
                    text[length++] = ',';
                }
                comma = true;
                length = element(type, data, at, text, length);
                at += size;
            }
            out.writeBytes(text, 0, length);
        }
        return at;
    }

    private static boolean finite(DataType type, ByteBuf data, int at) {
        return type != DataType.FP32 || (data.getIntLE(at) & 0x7f80_0000) != 0x7f80_0000;
    }

    private static int element(DataType type, ByteBuf data, int at, byte[] to, int length) {
        return switch (type) {
            case FP32 -> FloatText.write(data.getIntLE(at), to, length);
            case UINT8 -> small(data.getUnsignedByte(at), to, length);
            case INT8 -> signed(data.getByte(at), to, length);
            case UINT16 -> unsigned(data.getUnsignedShortLE(at), to, length);
            case INT16 -> signed(data.getShortLE(at), to, length);
            case UINT32 -> unsigned(data.getUnsignedIntLE(at), to, length);
            case INT32 -> signed(data.getIntLE(at), to, length);
            case UINT64 -> unsigned(data.getLongLE(at), to, length);
            default -> signed(data.getLongLE(at), to, length);
        };
    }

    private static int small(int value, byte[] to, int at) {
        int i = at;
        if (value >= 100) {
            to[i++] = (byte) ('0' + value / 100);
        }
        if (value >= 10) {
            to[i++] = (byte) ('0' + value / 10 % 10);
        }
        to[i++] = (byte) ('0' + value % 10);
        return i;
    }

    private static int signed(long value, byte[] to, int at) {
        if (value >= 0) {
            return unsigned(value, to, at);
        }
        to[at] = '-';
        return unsigned(-value, to, at + 1);
    }

    private static int unsigned(long value, byte[] to, int at) {
        long rest = value;
        int digits = digits(value);
        int i = at + digits;
        if (rest < 0) {
            // Beyond 2^63: the last digit apart, and the rest fits.
            long ten = Long.divideUnsigned(rest, 10);
            to[--i] = (byte) ('0' + (rest - 10 * ten));
            rest = ten;
        }
        while (i > at) {
            to[--i] = (byte) ('0' + rest % 10);
            rest /= 10;
        }
        return at + digits;
    }

    private static int digits(long unsigned) {
        if (unsigned < 0) {
            return unsigned >= -8_446_744_073_709_551_616L ? 20 : 19;
        }
        int digits = 1;
        for (long bound = 10; digits < 19 && unsigned >= bound; bound *= 10) {
            digits++;
        }
        return digits;
    }
}
