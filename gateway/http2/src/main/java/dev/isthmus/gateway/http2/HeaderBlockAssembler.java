package dev.isthmus.gateway.http2;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.Http2Error;
import org.jspecify.annotations.Nullable;

/** A header block that comes in HEADERS and CONTINUATION frames. */
final class HeaderBlockAssembler {
    /** More frames than any block of our limit needs; empty ones cost the peer next to nothing. */
    private static final int MAX_FRAMES = 64;

    private final int maxBytes;
    private int streamId;
    private boolean end;
    private int frames;
    private @Nullable ByteBuf bytes;

    HeaderBlockAssembler(int maxBytes) {
        this.maxBytes = maxBytes;
    }

    /** Checks that nothing comes between the frames of a block, and no CONTINUATION without one (RFC 9113, 6.10). */
    void check(int type, int id) {
        boolean goesOn = type == FrameType.CONTINUATION;
        if (goesOn != (streamId != 0) || (goesOn && id != streamId)) {
            throw new Http2Violation(
                    Http2Error.PROTOCOL_ERROR,
                    "a frame of type " + type + " where a header block " + (goesOn ? "has not begun" : "goes on"));
        }
    }

    /** Whether a block has begun and not ended. */
    boolean open() {
        return streamId != 0;
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
            throw new IllegalStateException("no header block has begun");
        }
        return bytes;
    }
}
