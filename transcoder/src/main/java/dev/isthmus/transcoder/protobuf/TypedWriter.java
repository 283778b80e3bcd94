package dev.isthmus.transcoder.protobuf;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.Tensor;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;

/** Writes a tensor's elements as InferTensorContents: packed, in the field of their datatype. */
final class TypedWriter {
    private TypedWriter() {}

    /** Whether the datatype has a field; FP16 and BF16 have none. */
    static boolean supports(DataType type) {
        return type != DataType.FP16 && type != DataType.BF16;
    }

    /** The encoded InferTensorContents, owned by the caller; the tensor is borrowed. */
    static ByteBuf contents(ByteBufAllocator allocator, Tensor tensor) {
        ByteBuf data = tensor.data();
        return ProtobufWriter.filled(
                allocator.buffer(data.readableBytes() + 8), out -> contents(allocator, tensor, out));
    }

    private static void contents(ByteBufAllocator allocator, Tensor tensor, ByteBuf out) {
        ByteBuf data = tensor.data();
        int field = TypedContents.field(tensor.dataType());
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
                    element(tensor.dataType(), data, at, packed);
                }
            }));
        }
    }

    private static void element(DataType type, ByteBuf data, int at, ByteBuf out) {
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
