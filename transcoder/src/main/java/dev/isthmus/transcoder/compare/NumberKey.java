package dev.isthmus.transcoder.compare;

import dev.isthmus.oip.DataType;
import io.netty.buffer.ByteBuf;

/**
 * Maps elements of every numeric datatype to signed 64-bit keys: exact, ordered like the numbers, and equal if the
 * numbers are. All NaNs map to one key, above all others; both zeros map to one key.
 */
public final class NumberKey {
    private NumberKey() {}

    /** The key of the element at this index. */
    public static long read(DataType type, ByteBuf data, int index) {
        return switch (type) {
            case UINT8 -> data.getUnsignedByte(index);
            case UINT16 -> data.getUnsignedShortLE(index);
            case UINT32 -> data.getUnsignedIntLE(index);
            case UINT64 -> data.getLongLE(index) ^ Long.MIN_VALUE;
            case INT8 -> data.getByte(index);
            case INT16 -> data.getShortLE(index);
            case INT32 -> data.getIntLE(index);
            case INT64 -> data.getLongLE(index);
            case FP16 -> of(Float.float16ToFloat(data.getShortLE(index)));
            case BF16 -> of(Float.intBitsToFloat(data.getShortLE(index) << 16));
            case FP32 -> of(Float.intBitsToFloat(data.getIntLE(index)));
            case FP64 -> of(Double.longBitsToDouble(data.getLongLE(index)));
            case BOOL, BYTES -> throw new IllegalArgumentException(type + " has no numbers");
        };
    }

    private static long of(double value) {
        // Adding 0.0 turns -0.0 into 0.0.
        return mirrored(Double.doubleToLongBits(value + 0.0));
    }

    /** Reverses the order of negative doubles, whose bits are ordered descending. Its own inverse. */
    private static long mirrored(long bits) {
        return bits ^ ((bits >> 63) & Long.MAX_VALUE);
    }

    /** The double nearest to a key's number; exact for datatypes of at most 53 significant bits. */
    static double value(DataType type, long key) {
        return switch (type) {
            case FP16, BF16, FP32, FP64 -> Double.longBitsToDouble(mirrored(key));
            case UINT64 -> unsigned(key ^ Long.MIN_VALUE);
            case UINT8, UINT16, UINT32, INT8, INT16, INT32, INT64 -> key;
            case BOOL, BYTES -> throw new IllegalArgumentException(type + " has no numbers");
        };
    }

    /** The absolute difference of two keys' numbers; infinite if only one of them is NaN, or an infinity. */
    static double difference(DataType type, long first, long second) {
        if (first == second) {
            return 0;
        }
        return switch (type) {
            case FP16, BF16, FP32, FP64 -> {
                double difference = Math.abs(value(type, first) - value(type, second));
                yield Double.isNaN(difference) ? Double.POSITIVE_INFINITY : difference;
            }
            // Read as unsigned, the difference of two longs is exact.
            case UINT8, UINT16, UINT32, UINT64, INT8, INT16, INT32, INT64 ->
                unsigned(first > second ? first - second : second - first);
            case BOOL, BYTES -> throw new IllegalArgumentException(type + " has no numbers");
        };
    }

    private static double unsigned(long bits) {
        // Halved, with the lost bit merged into the lowest one so that rounding is correct.
        return bits >= 0 ? bits : ((bits >>> 1) | (bits & 1)) * 2.0;
    }
}
