package dev.isthmus.gateway.http2;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import org.jspecify.annotations.Nullable;

/** The bytes of something that is split over two reads or more. */
final class PartialFrame {
    private @Nullable ByteBuf bytes;

    /**
     * Where {@code wanted} bytes lie in one piece: in {@code in}, or in the carry if an earlier read brought some of them.
     *
     * @param in borrowed
     * @return borrowed; null if they are not all there yet
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

    /** Whether it has a part of something. */
    boolean holds() {
        return bytes != null;
    }

    /** What {@link #gather} gave has been read. */
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
