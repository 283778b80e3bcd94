package dev.isthmus.gateway.grpc;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Base64;

/**
 * Decodes base64 (RFC 4648, 4) that arrives in parts, split anywhere. Padding may end any group of four characters, as
 * where encoded texts are joined (gRPC-Web, "Protocol differences vs gRPC over HTTP2"). Holds no more than one group.
 */
public final class Base64Decoder {
    private static final int GROUP = 4;
    /** Characters that are decoded in one step. */
    private static final int STEP = 8 * 1024;

    private final ByteBufAllocator allocator;
    /** The characters of the incomplete group. */
    private byte[] begun = {};

    public Base64Decoder(ByteBufAllocator allocator) {
        this.allocator = allocator;
    }

    /**
     * Decodes the next part of the text.
     *
     * @param part taken
     * @return the bytes of all groups that are complete, owned by the caller; possibly none
     * @throws OipException INVALID_ARGUMENT for what is not base64
     */
    public ByteBuf decode(ByteBuf part) {
        int most = (int) ((begun.length + (long) part.readableBytes()) / GROUP * 3);
        ByteBuf out = Unpooled.EMPTY_BUFFER;
        try {
            out = allocator.buffer(most, most);
            // Every byte changes, so a copy is necessary. The JDK's decoder is vectorized for arrays only.
            while (part.isReadable()) {
                int length = Math.min(STEP, part.readableBytes());
                byte[] text = Arrays.copyOf(begun, begun.length + length);
                part.readBytes(text, begun.length, length);
                int end = text.length / GROUP * GROUP;
                decode(text, end, out);
                begun = Arrays.copyOfRange(text, end, text.length);
            }
            return out.retain();
        } catch (IllegalArgumentException e) {
            throw new OipException(ErrorCode.INVALID_ARGUMENT, "gRPC-Web: base64 is expected: " + e.getMessage(), e);
        } finally {
            part.release();
            out.release();
        }
    }

    /** Decodes whole groups. The JDK's decoder takes padding for the end of the text. */
    private static void decode(byte[] text, int end, ByteBuf out) {
        int from = 0;
        for (int next = GROUP; next <= end; next += GROUP) {
            if (text[next - 1] == '=' || next == end) {
                out.writeBytes(Base64.getDecoder().decode(ByteBuffer.wrap(text, from, next - from)));
                from = next;
            }
        }
    }

    public boolean partial() {
        return begun.length > 0;
    }
}
