package dev.isthmus.gateway.grpc;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import java.util.Arrays;
import java.util.Base64;

/** Encodes base64 (RFC 4648, 4). */
public final class Base64Encoder {
    /** Bytes that are encoded in one step; a multiple of three, so that only the last step is padded. */
    private static final int STEP = 6 * 1024;

    private Base64Encoder() {}

    /** The length of the text of this many bytes. */
    public static long length(long bytes) {
        return (bytes + 2) / 3 * 4;
    }

    /**
     * Encodes the bytes as a text of its own, with padding.
     *
     * @param bytes taken
     * @return owned by the caller
     */
    public static ByteBuf encode(ByteBuf bytes, ByteBufAllocator allocator) {
        ByteBuf text = Unpooled.EMPTY_BUFFER;
        try {
            int length = Math.toIntExact(length(bytes.readableBytes()));
            text = allocator.buffer(length, length);
            // Every byte changes, so a copy is necessary. The JDK's encoder is vectorized for arrays only.
            byte[] step = new byte[Math.min(STEP, bytes.readableBytes())];
            while (bytes.isReadable()) {
                int count = Math.min(step.length, bytes.readableBytes());
                bytes.readBytes(step, 0, count);
                text.writeBytes(Base64.getEncoder().encode(count == step.length ? step : Arrays.copyOf(step, count)));
            }
            return text.retain();
        } finally {
            text.release();
            bytes.release();
        }
    }
}
