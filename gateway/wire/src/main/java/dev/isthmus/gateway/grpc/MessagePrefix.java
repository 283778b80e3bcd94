package dev.isthmus.gateway.grpc;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;

/** The prefix of each message: a compressed flag and a 4-byte length (gRPC over HTTP/2, Length-Prefixed-Message). */
public final class MessagePrefix {
    /** Length of the prefix in bytes. */
    public static final int BYTES = 5;

    /** Messages up to this many bytes are copied: that costs less than one more buffer. */
    private static final int SMALL = 1024;

    private MessagePrefix() {}

    /**
     * Prepends the prefix to an uncompressed message. Only small messages are copied.
     *
     * @param message taken
     */
    public static ByteBuf before(ByteBuf message, ByteBufAllocator allocator) {
        return before(message, message.readableBytes(), allocator);
    }

    /**
     * Prepends a message's prefix to its first part.
     *
     * @param part taken
     * @param length of the whole message
     */
    public static ByteBuf before(ByteBuf part, long length, ByteBufAllocator allocator) {
        if (isPrefixed(part, length)) {
            return part.readerIndex(part.readerIndex() - BYTES);
        }
        int copied = part.readableBytes() <= SMALL ? part.readableBytes() : 0;
        ByteBuf prefix;
        try {
            prefix = allocator.buffer(BYTES + copied, BYTES + copied);
        } catch (OutOfMemoryError e) {
            part.release();
            throw e;
        }
        prefix.writeByte(0).writeInt((int) length).writeBytes(part, copied);
        if (!part.isReadable()) {
            part.release();
            return prefix;
        }
        return allocator
                .compositeBuffer(Integer.MAX_VALUE)
                .addComponent(true, prefix)
                .addFlattenedComponents(true, part);
    }

    /**
     * Whether the prefix is still in the buffer before the message, as it is if a received message is forwarded
     * unchanged.
     */
    private static boolean isPrefixed(ByteBuf message, long length) {
        int start = message.readerIndex() - BYTES;
        return start >= 0 && message.getByte(start) == 0 && message.getUnsignedInt(start + 1) == length;
    }
}
