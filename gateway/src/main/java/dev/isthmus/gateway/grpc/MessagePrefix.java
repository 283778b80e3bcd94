package dev.isthmus.gateway.grpc;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.CompositeByteBuf;

/** What stands before each message: a compressed flag and a 4-byte length (gRPC over HTTP/2, Length-Prefixed-Message). */
public final class MessagePrefix {
    /** Its length. */
    public static final int BYTES = 5;

    /** Below, a copy costs less than one more buffer. */
    private static final int SMALL = 1024;

    private MessagePrefix() {}

    /**
     * A message behind its prefix, uncompressed. Its bytes are not copied unless they are few.
     *
     * @param message taken
     */
    public static ByteBuf before(ByteBuf message, ByteBufAllocator allocator) {
        int length = message.readableBytes();
        if (isThere(message, length)) {
            return message.readerIndex(message.readerIndex() - BYTES);
        }
        if (length <= SMALL) {
            ByteBuf both = allocator.buffer(BYTES + length, BYTES + length);
            write(both, length).writeBytes(message);
            message.release();
            return both;
        }
        ByteBuf prefix = write(allocator.buffer(BYTES, BYTES), length);
        if (message instanceof CompositeByteBuf) {
            return allocator
                    .compositeBuffer(Integer.MAX_VALUE)
                    .addComponent(true, prefix)
                    .addFlattenedComponents(true, message);
        }
        return allocator.compositeBuffer(2).addComponents(true, prefix, message);
    }

    /** As it is for a message that is passed on as it was received: its own prefix still stands before it. */
    private static boolean isThere(ByteBuf message, int length) {
        int start = message.readerIndex() - BYTES;
        return start >= 0 && message.getByte(start) == 0 && message.getInt(start + 1) == length;
    }

    private static ByteBuf write(ByteBuf to, int length) {
        return to.writeByte(0).writeInt(length);
    }
}
