package dev.isthmus.gateway.http2;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import org.jspecify.annotations.Nullable;

/** Collects the bytes of a frame, or of a frame header, that is split across reads. */
final class PartialFrame {
    private @Nullable ByteBuf bytes;

    /**
     * A buffer with {@code wanted} contiguous readable bytes: {@code in}, or a copy if earlier reads brought some of
     * them.
     *
     * @param in borrowed
     * @return borrowed; null if more bytes are needed
     */
    @Nullable
    ByteBuf gather(ByteBuf in, int wanted) {
        ByteBuf held = bytes;
        if (held == null) {
            if (in.readableBytes() >= wanted) {
                return in;
            }
            held = Unpooled.buffer(wanted, wanted);
            bytes = held;
        }
        in.readBytes(held, Math.min(wanted - held.readableBytes(), in.readableBytes()));
        return held.readableBytes() == wanted ? held : null;
    }

    /** Whether bytes of an earlier read are held. */
    boolean holds() {
        return bytes != null;
    }

    /** The buffer returned by {@link #gather} was read and is no longer needed. */
    void clear() {
        release();
    }

    void release() {
        if (bytes != null) {
            bytes.release();
            bytes = null;
        }
    }
}
