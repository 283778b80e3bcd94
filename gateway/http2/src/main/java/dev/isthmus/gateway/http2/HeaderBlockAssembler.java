package dev.isthmus.gateway.http2;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.Http2Error;
import org.jspecify.annotations.Nullable;

/** Assembles a header block from HEADERS and CONTINUATION frames. */
final class HeaderBlockAssembler {
    /** More frames than a block within the limit needs. Bounds empty frames, which cost the peer next to nothing. */
    private static final int MAX_FRAMES = 64;

    private final int maxBytes;
    private int streamId;
    private boolean end;
    private int frames;
    private @Nullable ByteBuf bytes;

    HeaderBlockAssembler(int maxBytes) {
        this.maxBytes = maxBytes;
    }

    /** Checks that no frame interrupts a block, and that CONTINUATION follows an open block (RFC 9113, 6.10). */
    void check(int type, int id) {
        boolean continuation = type == FrameType.CONTINUATION;
        if (continuation != (streamId != 0) || (continuation && id != streamId)) {
            throw new Http2Violation(
                    Http2Error.PROTOCOL_ERROR,
                    continuation
                            ? "CONTINUATION on stream " + id + " without an open header block"
                            : "a frame of type " + type + " within a header block");
        }
    }

    /** Whether a block is incomplete. */
    boolean open() {
        return streamId != 0;
    }

    /** The memory that is held, in bytes. */
    int capacity() {
        return bytes == null ? 0 : bytes.capacity();
    }

    void begin(int id, boolean endOfStream, ByteBuf in, int length) {
        streamId = id;
        end = endOfStream;
        frames = 0;
        bytes = Unpooled.buffer(Math.min(maxBytes, 2 * length));
        add(in, length);
    }

    void add(ByteBuf in, int length) {
        ByteBuf held = held();
        if (++frames > MAX_FRAMES || held.readableBytes() + length > maxBytes) {
            throw new Http2Violation(
                    AbuseRule.HEADER_BLOCK,
                    "a header block of more than " + maxBytes + " bytes or " + MAX_FRAMES + " frames");
        }
        held.ensureWritable(length);
        in.readBytes(held, length);
    }

    void finish(FrameSink sink) {
        ByteBuf held = held();
        int id = streamId;
        streamId = 0;
        try {
            sink.headers(id, held, held.readableBytes(), end);
        } finally {
            release();
        }
    }

    void release() {
        if (bytes != null) {
            bytes.release();
            bytes = null;
        }
    }

    private ByteBuf held() {
        if (bytes == null) {
            throw new IllegalStateException("no open header block");
        }
        return bytes;
    }
}
