package dev.isthmus.gateway.http1;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.function.Consumer;

/** Writes the chunks of a body. */
public final class ChunkWriter {
    /** Larger parts are not copied, in bytes. */
    private static final int MAX_COPIED = 1024;

    private static final int AROUND = 12;
    private static final byte[] END_OF_CHUNK = {OctetClasses.CR, OctetClasses.LF};
    private static final ByteBuf CR_LF = Unpooled.unreleasableBuffer(Unpooled.wrappedBuffer(END_OF_CHUNK));
    private static final ByteBuf LAST_CHUNK =
            Unpooled.unreleasableBuffer(Unpooled.copiedBuffer("0\r\n\r\n", StandardCharsets.US_ASCII));

    private ChunkWriter() {}

    /**
     * Writes a part of the body as a chunk; an empty one, which would end the body, is not written.
     *
     * @param part taken
     * @param to receives one or more buffers in order
     */
    public static void chunk(ByteBufAllocator allocator, ByteBuf part, Consumer<ByteBuf> to) {
        int length = part.readableBytes();
        if (length == 0) {
            part.release();
            return;
        }
        boolean copied = length <= MAX_COPIED;
        ByteBuf first = allocator.directBuffer(copied ? length + AROUND : AROUND);
        first.writeCharSequence(Integer.toHexString(length), StandardCharsets.US_ASCII);
        first.writeBytes(END_OF_CHUNK);
        if (copied) {
            first.writeBytes(part).writeBytes(END_OF_CHUNK);
            part.release();
            to.accept(first);
        } else {
            to.accept(first);
            to.accept(part);
            to.accept(CR_LF.duplicate());
        }
    }

    /** The end of the body. */
    public static ByteBuf last() {
        return LAST_CHUNK.duplicate();
    }
}
