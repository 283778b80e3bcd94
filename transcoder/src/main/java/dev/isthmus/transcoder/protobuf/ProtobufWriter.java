package dev.isthmus.transcoder.protobuf;

import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.InferResponse;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;

/** Writes inference messages for the protobuf wire; tensors go as raw contents, without being copied. */
public final class ProtobufWriter {
    private ProtobufWriter() {}

    /** Encodes a ModelInferRequest (taken). */
    public static ByteBuf request(ByteBufAllocator allocator, InferRequest request) {
        throw new UnsupportedOperationException("to be written");
    }

    /** Encodes a ModelInferResponse (taken). */
    public static ByteBuf response(ByteBufAllocator allocator, InferResponse response) {
        throw new UnsupportedOperationException("to be written");
    }
}
