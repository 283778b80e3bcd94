package dev.isthmus.transcoder.protobuf;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.Shape;
import dev.isthmus.transcoder.TensorCheck;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;

/**
 * InferTensorContents: elements in the repeated field of their datatype, which become the raw form. Both encodings of
 * repeated numbers, packed and one field each, are read.
 */
final class TypedContents {
    private static final int BOOL = 1;
    private static final int INT = 2;
    private static final int INT64 = 3;
    private static final int UINT = 4;
    private static final int UINT64 = 5;
    private static final int FP32 = 6;
    private static final int FP64 = 7;
    private static final int BYTES = 8;

    private final TensorCheck check;
    private final String tensor;
    private final DataType type;
    private final long maxBytes;

    /**
     * Contents of one tensor.
     *
     * @param maxBytes a raw form longer than this is refused: a packed element can stand for eight times its bytes
     */
    TypedContents(TensorCheck check, String tensor, DataType type, long maxBytes) {
        this.check = check;
        this.tensor = tensor;
        this.type = type;
        this.maxBytes = maxBytes;
    }

    /** Whether the message has a field at all: MLServer sends empty ones beside raw contents. */
    static boolean empty(ProtoCursor contents) {
        return !contents.more();
    }

    /** The elements in raw form; the buffer is the caller's. */
    ByteBuf raw(ByteBufAllocator allocator, ProtoCursor contents, Shape shape) {
        if (!TypedWriter.has(type)) {
            throw check.failure(tensor, "datatype " + type + " has raw contents only");
        }
        int wanted = field(type);
        ByteBuf raw = allocator.buffer(Math.max(16, contents.remaining()));
        try {
            while (contents.more()) {
                int field = contents.field();
                if (field != wanted) {
                    throw check.failure(
                            tensor, "datatype " + type + " goes into " + name(wanted) + ", got " + name(field));
                }
                elements(contents, field, raw);
            }
            requireCount(raw, shape);
            return raw;
        } catch (RuntimeException e) {
            raw.release();
            throw e;
        }
    }

    private void requireCount(ByteBuf raw, Shape shape) {
        if (type == DataType.BYTES) {
            check.requireRaw(tensor, type, shape, raw);
            return;
        }
        long expected = check.elementCount(tensor, shape);
        long got = raw.readableBytes() / type.size();
        if (got != expected) {
            throw check.failure(tensor, "shape " + shape + " needs " + expected + " elements, got " + got);
        }
    }

    private void elements(ProtoCursor contents, int field, ByteBuf raw) {
        if (field == BYTES) {
            int length = contents.length();
            raw.writeIntLE(length);
            contents.copy(length, raw);
        } else if (contents.wireType() == ProtoCursor.BYTES) {
            ProtoCursor packed = contents.nested();
            while (packed.more()) {
                element(packed, field, raw);
                if (raw.readableBytes() > maxBytes) {
                    throw check.failure(tensor, "at most " + maxBytes + " bytes are taken");
                }
            }
        } else {
            int wireType =
                    field == FP32 ? ProtoCursor.FIXED32 : field == FP64 ? ProtoCursor.FIXED64 : ProtoCursor.VARINT;
            element(contents.expect(wireType), field, raw);
        }
    }

    private void element(ProtoCursor from, int field, ByteBuf raw) {
        switch (field) {
            case BOOL -> raw.writeByte(from.varint() == 0 ? 0 : 1);
            case INT -> signed((int) from.varint(), raw);
            case UINT -> unsigned(from.varint() & 0xffff_ffffL, raw);
            case INT64, UINT64 -> raw.writeLongLE(from.varint());
            case FP32 -> raw.writeIntLE(from.fixed32());
            case FP64 -> raw.writeLongLE(from.fixed64());
            default -> throw check.failure(tensor, "contents have an unknown field " + field);
        }
    }

    private void signed(int value, ByteBuf raw) {
        int bits = type.size() * 8;
        if (value < -1L << (bits - 1) || value > (1L << (bits - 1)) - 1) {
            throw check.failure(tensor, "a value of " + type + " is expected, got " + value);
        }
        integer(value, raw);
    }

    private void unsigned(long value, ByteBuf raw) {
        if (value >= 1L << (type.size() * 8)) {
            throw check.failure(tensor, "a value of " + type + " is expected, got " + value);
        }
        integer((int) value, raw);
    }

    private void integer(int value, ByteBuf raw) {
        switch (type.size()) {
            case 1 -> raw.writeByte(value);
            case 2 -> raw.writeShortLE(value);
            default -> raw.writeIntLE(value);
        }
    }

    /** The number of the field for this datatype. */
    static int field(DataType type) {
        return switch (type) {
            case BOOL -> BOOL;
            case INT8, INT16, INT32 -> INT;
            case INT64 -> INT64;
            case UINT8, UINT16, UINT32 -> UINT;
            case UINT64 -> UINT64;
            case FP32 -> FP32;
            case FP64 -> FP64;
            case BYTES -> BYTES;
            case FP16, BF16 -> throw new IllegalArgumentException(type + " has no field");
        };
    }

    private static String name(int field) {
        return switch (field) {
            case BOOL -> "bool_contents";
            case INT -> "int_contents";
            case INT64 -> "int64_contents";
            case UINT -> "uint_contents";
            case UINT64 -> "uint64_contents";
            case FP32 -> "fp32_contents";
            case FP64 -> "fp64_contents";
            case BYTES -> "bytes_contents";
            default -> "unknown field " + field;
        };
    }
}
