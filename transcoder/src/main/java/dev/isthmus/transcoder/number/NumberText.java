package dev.isthmus.transcoder.number;

import dev.isthmus.oip.DataType;
import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;
import java.util.function.IntFunction;

/** Writes elements of all datatypes but BYTES as JSON, separated by commas, in blocks. */
public final class NumberText {

    /** The elements written at once. */
    private static final int BLOCK = 256;

    private static final int MAX_BYTES = DecimalText.MAX_BYTES + 1;
    private static final int INFINITE = 0x7f80_0000;
    private static final long INFINITE_DOUBLE = 0x7ff0_0000_0000_0000L;
    private static final long EIGHT_DIGITS = 100_000_000;

    private final DataType type;
    private final byte[] raw;
    private final byte[] text;
    /** The decimals of a block of floats. */
    private final long[] decimals;

    private NumberText(DataType type, int block) {
        this.type = type;
        this.raw = new byte[block * type.size()];
        this.text = new byte[(block + 1) * MAX_BYTES];
        this.decimals = new long
                [switch (type) {
                    case FP16, BF16, FP32 -> block;
                    case FP64 -> 2 * block;
                    default -> 0;
                }];
    }

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
        int block = Math.min(BLOCK, (end - from) / type.size());
        return new NumberText(type, block).write(data, from, end, first, out);
    }

    private int write(ByteBuf data, int from, int end, boolean first, ByteBuf out) {
        int size = type.size();
        int at = from;
        int taken;
        int written;
        do {
            taken = Math.min(raw.length, end - at) / size;
            data.getBytes(at, raw, 0, taken * size);
            written = finite(taken);
            int length = text(written);
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

    private int finite(int count) {
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
    private int text(int count) {
        return switch (type) {
            case FP16, BF16, FP32 -> {
                decimals(count);
                yield nines(decimals, count, text);
            }
            case FP64 -> {
                decimals(count);
                yield seventeens(decimals, count, text);
            }
            case BOOL, UINT8, INT8 -> SmallText.of(type).write(raw, count, text);
            default -> integers(count);
        };
    }

    /**
     * Finds the decimals of floats. They are written in another loop, because the processor works on more elements at
     * the same time if each takes fewer instructions.
     */
    private void decimals(int count) {
        long[] to = decimals;
        byte[] from = raw;
        if (type == DataType.FP32) {
            for (int i = 0; i < count; i++) {
                to[i] = FloatDecimal.of((int) ArrayView.INTS.get(from, 4 * i));
            }
        } else if (type == DataType.FP64) {
            for (int i = 0; i < count; i++) {
                DoubleDecimal.of((long) ArrayView.LONGS.get(from, 8 * i), to, 2 * i);
            }
        } else {
            HalfFloat format = HalfFloat.of(type);
            for (int i = 0; i < count; i++) {
                to[i] = format.decimal((short) ArrayView.SHORTS.get(from, 2 * i));
            }
        }
    }

    private static int nines(long[] decimals, int count, byte[] to) {
        int at = 0;
        for (int i = 0; i < count; i++) {
            at = DecimalText.writeNine(decimals[i], to, at);
            to[at++] = ',';
        }
        return at;
    }

    private static int seventeens(long[] decimals, int count, byte[] to) {
        int at = 0;
        for (int i = 0; i < count; i++) {
            at = DecimalText.writeSeventeen(decimals[2 * i], (int) decimals[2 * i + 1], to, at);
            to[at++] = ',';
        }
        return at;
    }

    private int integers(int count) {
        boolean signed = type == DataType.INT16 || type == DataType.INT32 || type == DataType.INT64;
        int at = 0;
        for (int i = 0; i < count; i++) {
            long value = element(i);
            if (signed && value < 0) {
                text[at++] = '-';
                value = -value;
            }
            at = unsigned(value, text, at);
            text[at++] = ',';
        }
        return at;
    }

    private long element(int index) {
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

    /** The texts of all values of a one-byte datatype, each with a comma, as one long. */
    private static final class SmallText {
        private static final int LENGTH = 56;

        private static final SmallText UNSIGNED = new SmallText(value -> Integer.toString(value));
        private static final SmallText SIGNED = new SmallText(value -> Integer.toString((byte) value));
        private static final SmallText BOOL = new SmallText(value -> Boolean.toString(value != 0));

        /** Seven bytes of text and, in the highest byte, its length. */
        private final long[] texts = new long[256];

        private SmallText(IntFunction<String> text) {
            for (int value = 0; value < texts.length; value++) {
                byte[] bytes = new byte[8];
                byte[] ascii = (text.apply(value) + ',').getBytes(StandardCharsets.US_ASCII);
                System.arraycopy(ascii, 0, bytes, 0, ascii.length);
                texts[value] = (long) ArrayView.LONGS.get(bytes, 0) | (long) ascii.length << LENGTH;
            }
        }

        /** @param type BOOL, INT8 or UINT8 */
        static SmallText of(DataType type) {
            return type == DataType.BOOL ? BOOL : type == DataType.INT8 ? SIGNED : UNSIGNED;
        }

        /** Writes elements, each followed by a comma; returns the length. Overwrites up to eight more bytes. */
        int write(byte[] raw, int count, byte[] to) {
            int at = 0;
            for (int i = 0; i < count; i++) {
                long text = texts[raw[i] & 0xff];
                ArrayView.LONGS.set(to, at, text);
                at += (int) (text >>> LENGTH);
            }
            return at;
        }
    }
}
