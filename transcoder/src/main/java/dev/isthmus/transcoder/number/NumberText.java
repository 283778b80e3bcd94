package dev.isthmus.transcoder.number;

import dev.isthmus.oip.DataType;
import io.netty.buffer.ByteBuf;

/** Writes elements of all datatypes but BYTES as JSON, separated by commas, in blocks. */
public final class NumberText {

    /** The elements written at once. */
    private static final int BLOCK = 256;

    private static final int MAX_BYTES = DecimalText.MAX_BYTES + 1;
    private static final int INFINITE = 0x7f80_0000;
    private static final long INFINITE_DOUBLE = 0x7ff0_0000_0000_0000L;
    private static final long EIGHT_DIGITS = 100_000_000;

    private NumberText() {}

    /**
     * Writes elements up to the first non-finite one.
     *
     * @param type not BYTES
     * @param data the elements in raw form
     * @param from the index of the first element
     * @param end the index after the last element
     * @param first whether no comma precedes the first element
     * @return the index after the last element written
     */
    public static int write(DataType type, ByteBuf data, int from, int end, boolean first, ByteBuf out) {
        int size = type.size();
        int block = Math.min(BLOCK, (end - from) / size);
        byte[] raw = new byte[block * size];
        byte[] text = new byte[(block + 1) * MAX_BYTES];
        int at = from;
        int taken;
        int written;
        do {
            taken = Math.min(block, (end - at) / size);
            data.getBytes(at, raw, 0, taken * size);
            written = finite(type, raw, taken);
            int length = text(type, raw, written, text);
            if (length > 0) {
                if (at > from || !first) {
                    out.writeByte(',');
                }
                ensureCapacity(out, length, (end - at) / size / written);
                out.writeBytes(text, 0, length - 1);
            }
            at += written * size;
        } while (written == taken && at < end);
        return at;
    }

    /** Ensures capacity for a block; if the buffer must grow, for all remaining blocks of this size. */
    private static void ensureCapacity(ByteBuf out, int length, int blocks) {
        if (out.writableBytes() <= length) {
            out.ensureWritable((int) Math.min(length * (blocks + 1L), Integer.MAX_VALUE - out.writerIndex()));
        }
    }

    private static int finite(DataType type, byte[] raw, int count) {
        int i = 0;
        switch (type) {
            case FP16, BF16 -> {
                HalfFloat format = HalfFloat.of(type);
                while (i < count && format.isFinite((short) ArrayView.SHORTS.get(raw, 2 * i))) {
                    i++;
                }
            }
            case FP32 -> {
                while (i < count && ((int) ArrayView.INTS.get(raw, 4 * i) & INFINITE) != INFINITE) {
                    i++;
                }
            }
            case FP64 -> {
                while (i < count && ((long) ArrayView.LONGS.get(raw, 8 * i) & INFINITE_DOUBLE) != INFINITE_DOUBLE) {
                    i++;
                }
            }
            default -> i = count;
        }
        return i;
    }

    /** Writes elements, each followed by a comma; returns the length. */
    private static int text(DataType type, byte[] raw, int count, byte[] to) {
        return switch (type) {
            case FP16, BF16 -> halves(HalfFloat.of(type), raw, count, to);
            case FP32 -> floats(raw, count, to);
            case FP64 -> doubles(raw, count, to);
            case BOOL, UINT8, INT8 -> SmallText.of(type).write(raw, count, to);
            default -> integers(type, raw, count, to);
        };
    }

    private static int halves(HalfFloat format, byte[] raw, int count, byte[] to) {
        int at = 0;
        for (int i = 0; i < count; i++) {
            at = format.write((short) ArrayView.SHORTS.get(raw, 2 * i), to, at);
            to[at++] = ',';
        }
        return at;
    }

    private static int floats(byte[] raw, int count, byte[] to) {
        int at = 0;
        for (int i = 0; i < count; i++) {
            at = FloatText.write((int) ArrayView.INTS.get(raw, 4 * i), to, at);
            to[at++] = ',';
        }
        return at;
    }

    private static int doubles(byte[] raw, int count, byte[] to) {
        int at = 0;
        for (int i = 0; i < count; i++) {
            at = DoubleText.write((long) ArrayView.LONGS.get(raw, 8 * i), to, at);
            to[at++] = ',';
        }
        return at;
    }

    private static int integers(DataType type, byte[] raw, int count, byte[] to) {
        boolean signed = type == DataType.INT16 || type == DataType.INT32 || type == DataType.INT64;
        int at = 0;
        for (int i = 0; i < count; i++) {
            long value = element(type, raw, i);
            if (signed && value < 0) {
                to[at++] = '-';
                value = -value;
            }
            at = unsigned(value, to, at);
            to[at++] = ',';
        }
        return at;
    }

    private static long element(DataType type, byte[] raw, int index) {
        return switch (type) {
            case INT16 -> (short) ArrayView.SHORTS.get(raw, 2 * index);
            case UINT16 -> (short) ArrayView.SHORTS.get(raw, 2 * index) & 0xffffL;
            case INT32 -> (int) ArrayView.INTS.get(raw, 4 * index);
            case UINT32 -> (int) ArrayView.INTS.get(raw, 4 * index) & 0xffff_ffffL;
            default -> (long) ArrayView.LONGS.get(raw, 8 * index);
        };
    }

    static int unsigned(long value, byte[] to, int at) {
        if (value >= 0 && value < EIGHT_DIGITS) {
            return head(value, to, at);
        }
        long upper = value < 0 ? Long.divideUnsigned(value, EIGHT_DIGITS) : value / EIGHT_DIGITS;
        int i;
        if (upper < EIGHT_DIGITS) {
            i = head(upper, to, at);
        } else {
            i = head(upper / EIGHT_DIGITS, to, at);
            EightDigits.write(EightDigits.of(upper % EIGHT_DIGITS), to, i);
            i += 8;
        }
        EightDigits.write(EightDigits.of(value - EIGHT_DIGITS * upper), to, i);
        return i + 8;
    }

    /** Writes up to eight digits without leading zeros. */
    private static int head(long value, byte[] to, int at) {
        long eight = EightDigits.of(value);
        int zeros = Long.numberOfTrailingZeros(eight | 1L << 56) >>> 3;
        EightDigits.write(eight >>> (zeros << 3), to, at);
        return at + 8 - zeros;
    }
}
