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
        int part = Math.min(wanted - (held == null ? 0 : held.readableBytes()), in.readableBytes());
        if (held == null) {
            if (in.readableBytes() >= wanted) {
                return in;
            }
            // As large as what arrives, not as what is announced.
            held = Unpooled.buffer(in.readableBytes(), wanted);
            bytes = held;
        }
        in.readBytes(held.ensureWritable(part), part);
        return held.readableBytes() == wanted ? held : null;
    }

    /** Whether bytes of an earlier read are held. */
    boolean holds() {
        return bytes != null;
    }

    /** The memory that is held, in bytes. */
    int capacity() {
        return bytes == null ? 0 : bytes.capacity();
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
