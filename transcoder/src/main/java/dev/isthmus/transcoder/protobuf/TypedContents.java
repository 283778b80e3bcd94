package dev.isthmus.transcoder.protobuf;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.message.TensorCheck;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;

/**
 * Decodes InferTensorContents, whose elements are in the repeated field of their datatype, into raw form, and writes
 * them. Repeated numbers may be packed or not.
 */
final class TypedContents {
    /** The tag of a tensor's contents. */
    static final int TAG = 5 << 3 | ProtoCursor.BYTES;

    private static final int BOOL = 1;
    private static final int INT = 2;
    private static final int INT64 = 3;
    private static final int UINT = 4;
    private static final int UINT64 = 5;
    private static final int FP32 = 6;
    private static final int FP64 = 7;
    private static final int BYTES = 8;
    private static final String[] NAMES = "bool int int64 uint uint64 fp32 fp64 bytes".split(" ", -1);

    private final TensorCheck check;
    private final String name;
    private final DataType type;
    private final long maxBytes;

    /**
     * A decoder for one tensor.
     *
     * @param maxBytes the maximum size of the raw form: a packed element may become eight times as large
     */
    TypedContents(TensorCheck check, String name, DataType type, long maxBytes) {
        this.check = check;
        this.name = name;
        this.type = type;
        this.maxBytes = maxBytes;
    }

    /**
     * Whether a tensor has no elements in its contents.
     *
     * @param tensor the tensor's message from its first {@code contents} field on; not advanced
     */
    static boolean empty(ProtoCursor tensor) {
        ProtoCursor fields = tensor.from(tensor.position());
        while (fields.more()) {
            if (fields.tag() != TAG) {
                fields.skip();
            } else if (hasElements(fields.nested())) {
                return false;
            }
        }
        return true;
    }

    private static boolean hasElements(ProtoCursor contents) {
        while (contents.more()) {
            if (elements(contents, contents.tag())) {
                return true;
            }
            contents.skipUnexpected();
        }
        return false;
    }

    /** Whether this field has elements: it is neither an empty list nor unknown. */
    private static boolean elements(ProtoCursor contents, int tag) {
        int field = ProtoCursor.field(tag);
        if (field > BYTES) {
            return false;
        }
        return tag == (field << 3 | ProtoCursor.BYTES)
                ? field == BYTES || contents.from(contents.position()).length() > 0
                : tag == (field << 3 | wireType(field));
    }

    private static int wireType(int field) {
        return switch (field) {
            case FP32 -> ProtoCursor.FIXED32;
            case FP64 -> ProtoCursor.FIXED64;
            case BYTES -> ProtoCursor.BYTES;
            default -> ProtoCursor.VARINT;
        };
    }

    /**
     * The elements in raw form, owned by the caller.
     *
     * @param tensor the tensor's message from its first {@code contents} field on; several such fields are concatenated
     */
    ByteBuf raw(ByteBufAllocator allocator, ProtoCursor tensor, Shape shape) {
        if (!supports(type)) {
            throw check.failure(name, "datatype " + type + " has raw contents only");
        }
        int wanted = field(type);
        ByteBuf raw = allocator.buffer(Math.max(16, tensor.remaining()));
        try {
            while (tensor.more()) {
                if (tensor.tag() == TAG) {
                    read(tensor.nested(), wanted, raw);
                } else {
                    tensor.skip();
                }
            }
            requireCount(raw, shape);
            return raw;
        } catch (RuntimeException | OutOfMemoryError e) {
            raw.release();
            throw e;
        }
    }

    private void requireCount(ByteBuf raw, Shape shape) {
        if (type == DataType.BYTES) {
            check.requireRaw(name, type, shape, raw);
            return;
        }
        long expected = check.elementCount(name, shape);
        long got = raw.readableBytes() / type.size();
        if (got != expected) {
            throw check.failure(name, "shape " + shape + " needs " + expected + " elements, got " + got);
        }
    }

    private void read(ProtoCursor contents, int wanted, ByteBuf raw) {
        while (contents.more()) {
            int tag = contents.tag();
            if (!elements(contents, tag)) {
                contents.skipUnexpected();
                continue;
            }
            if (ProtoCursor.field(tag) != wanted) {
                throw check.failure(
                        name,
                        "datatype " + type + " belongs in " + name(wanted) + ", got " + name(ProtoCursor.field(tag)));
            }
            if (wanted != BYTES && tag == (wanted << 3 | ProtoCursor.BYTES)) {
                ProtoCursor packed = contents.nested();
                while (packed.more()) {
                    element(packed, wanted, raw);
                }
            } else {
                element(contents, wanted, raw);
            }
        }
    }

    private void element(ProtoCursor from, int field, ByteBuf raw) {
        if (raw.readableBytes() >= maxBytes) {
            throw check.tooLarge(name, maxBytes);
        }
        switch (field) {
            case BOOL -> raw.writeByte(from.varint() == 0 ? 0 : 1);
            case INT -> signed((int) from.varint(), raw);
            case UINT -> unsigned(from.varint() & 0xffff_ffffL, raw);
            case INT64, UINT64 -> raw.writeLongLE(from.varint());
            case FP32 -> raw.writeIntLE(from.fixed32());
            case FP64 -> raw.writeLongLE(from.fixed64());
            case BYTES -> {
                int length = from.length();
                raw.writeIntLE(length);
                from.copy(length, raw);
            }
            default -> throw check.failure(name, "contents have an unknown field " + field);
        }
    }

    private void signed(int value, ByteBuf raw) {
        int bits = type.size() * 8;
        if (value < -1L << (bits - 1) || value > (1L << (bits - 1)) - 1) {
            throw check.failure(name, "a value of " + type + " is expected, got " + value);
        }
        integer(value, raw);
    }

    private void unsigned(long value, ByteBuf raw) {
        if (value >= 1L << (type.size() * 8)) {
            throw check.failure(name, "a value of " + type + " is expected, got " + value);
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

    /** The field number for this datatype. */
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
        return NAMES[field - 1] + "_contents";
    }

    /** Whether the datatype has a field; FP16 and BF16 have none. */
    static boolean supports(DataType type) {
        return type != DataType.FP16 && type != DataType.BF16;
    }

    /** The elements of a tensor (borrowed) as InferTensorContents, packed; owned by the caller. */
    static ByteBuf written(ByteBufAllocator allocator, Tensor tensor) {
        ByteBuf data = tensor.data();
        return ProtobufWriter.filled(allocator.buffer(data.readableBytes() + 8), out -> write(allocator, tensor, out));
    }

    private static void write(ByteBufAllocator allocator, Tensor tensor, ByteBuf out) {
        ByteBuf data = tensor.data();
        int field = field(tensor.dataType());
        if (tensor.dataType() == DataType.BYTES) {
            for (int at = data.readerIndex(); at < data.writerIndex(); ) {
                int length = data.getIntLE(at);
                ProtobufWriter.tag(out, field, ProtoCursor.BYTES);
                ProtobufWriter.varint(out, length);
                out.writeBytes(data, at + 4, length);
                at += 4 + length;
            }
        } else if (data.isReadable()) {
            int size = tensor.dataType().size();
            ProtobufWriter.message(out, field, ProtobufWriter.filled(allocator.buffer(data.readableBytes()), packed -> {
                for (int at = data.readerIndex(); at < data.writerIndex(); at += size) {
                    writeElement(tensor.dataType(), data, at, packed);
                }
            }));
        }
    }

    private static void writeElement(DataType type, ByteBuf data, int at, ByteBuf out) {
        switch (type) {
            case BOOL -> out.writeByte(data.getByte(at) == 0 ? 0 : 1);
            case INT8 -> ProtobufWriter.varint(out, data.getByte(at));
            case INT16 -> ProtobufWriter.varint(out, data.getShortLE(at));
            case INT32 -> ProtobufWriter.varint(out, data.getIntLE(at));
            case INT64, UINT64 -> ProtobufWriter.varint(out, data.getLongLE(at));
            case UINT8 -> ProtobufWriter.varint(out, data.getUnsignedByte(at));
            case UINT16 -> ProtobufWriter.varint(out, data.getUnsignedShortLE(at));
            case UINT32 -> ProtobufWriter.varint(out, data.getUnsignedIntLE(at));
            case FP32 -> out.writeIntLE(data.getIntLE(at));
            case FP64 -> out.writeLongLE(data.getLongLE(at));
            case FP16, BF16, BYTES -> throw new IllegalArgumentException(type + " is not packed");
        }
    }
}
