package dev.isthmus.gateway.ingress;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.CompositeByteBuf;
import org.jspecify.annotations.Nullable;

/**
 * Takes the messages of one gRPC stream out of its data (gRPC over HTTP/2: a compressed flag, a 4-byte length, the message).
 * Bytes are not copied: a message is made of slices of what arrived. A message's length is checked before it is gathered.
 */
final class GrpcDeframer {
    private static final int PREFIX = 5;

    private final ByteBufAllocator allocator;
    private final long maxMessageBytes;
    private @Nullable CompositeByteBuf gathered;

    GrpcDeframer(ByteBufAllocator allocator, long maxMessageBytes) {
        this.allocator = allocator;
        this.maxMessageBytes = maxMessageBytes;
    }

    /** @param data taken */
    void add(ByteBuf data) {
        if (!data.isReadable()) {
            // As some clients end a stream.
            data.release();
            return;
        }
        if (gathered == null) {
            gathered = allocator.compositeBuffer(Integer.MAX_VALUE);
        }
        gathered.addFlattenedComponents(true, data);
    }

    /**
     * The next message that is complete, owned by the caller; null when more data is needed.
     *
     * @throws OipException RESOURCE_EXHAUSTED for a message that is too large, UNIMPLEMENTED for a compressed one
     */
    @Nullable
    ByteBuf next() {
        CompositeByteBuf in = gathered;
        if (in == null || in.readableBytes() < PREFIX) {
            return null;
        }
        int start = in.readerIndex();
        int flag = in.getUnsignedByte(start);
        long length = in.getUnsignedInt(start + 1);
        if (flag > 1) {
            throw new OipException(ErrorCode.INTERNAL, "gRPC message: compressed flag 0 or 1 is expected, got " + flag);
        }
        if (length > maxMessageBytes) {
            throw new OipException(
                    ErrorCode.PAYLOAD_TOO_LARGE,
                    "gRPC message: at most " + maxMessageBytes + " bytes are taken, got " + length);
        }
        if (flag == 1) {
            throw new OipException(
                    ErrorCode.UNIMPLEMENTED, "gRPC message: compressed, but identity is the only grpc-encoding taken");
        }
        if (in.readableBytes() - PREFIX < length) {
            return null;
        }
        in.skipBytes(PREFIX);
        if (in.readableBytes() == length) {
            gathered = null;
            return in;
        }
        return in.readRetainedSlice((int) length);
    }

    /** Whether data is left over that makes no complete message. */
    boolean partial() {
        return gathered != null && gathered.isReadable();
    }

    /** Gives back what is held; may be called more than once. */
    void release() {
        if (gathered != null) {
            gathered.release();
            gathered = null;
        }
    }
}
