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
    private final @Nullable ContentCoding coding;
    private @Nullable CompositeByteBuf gathered;

    /** @param coding what the header grpc-encoding says; null for identity */
    GrpcDeframer(ByteBufAllocator allocator, long maxMessageBytes, @Nullable ContentCoding coding) {
        this.coding = coding;
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
     * @throws OipException RESOURCE_EXHAUSTED for a message that is too large, INTERNAL for one that is compressed though no
     *     grpc-encoding says how
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
        if (flag == 1 && coding == null) {
            throw new OipException(ErrorCode.INTERNAL, "gRPC message: compressed, but grpc-encoding does not say how");
        }
        if (in.readableBytes() - PREFIX < length) {
            return null;
        }
        in.skipBytes(PREFIX);
        return plain(flag, take(in, (int) length));
    }

    private ByteBuf take(CompositeByteBuf in, int length) {
        if (in.readableBytes() == length) {
            gathered = null;
            return in;
        }
        // The parts of this message alone, so that those of the next do not keep it.
        CompositeByteBuf message = allocator.compositeBuffer(Integer.MAX_VALUE);
        for (ByteBuf part : in.decompose(in.readerIndex(), length)) {
            message.addComponent(true, part.retain());
        }
        in.skipBytes(length).discardReadComponents();
        return message;
    }

    private ByteBuf plain(int flag, ByteBuf message) {
        return flag == 1 && coding != null ? coding.decompress(allocator, message, maxMessageBytes) : message;
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
