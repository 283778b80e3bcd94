package dev.isthmus.gateway.http2;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2FrameTypes;

/**
 * A received frame (RFC 9113, 4.1).
 *
 * @param type one of {@link Http2FrameTypes}, or any other
 * @param payload on the heap; need not be released
 */
public record RawFrame(int type, int flags, int streamId, ByteBuf payload) {

    /** Bytes of the payload. */
    public int length() {
        return payload.capacity();
    }

    public boolean isData() {
        return type == FrameType.DATA;
    }

    boolean has(int flag) {
        return (flags & flag) != 0;
    }

    public boolean isAck() {
        return (type == FrameType.SETTINGS || type == FrameType.PING) && has(FrameType.ACK);
    }

    /** Whether it ends the stream. */
    public boolean endsStream() {
        return (isData() || type == FrameType.HEADERS) && has(FrameType.END_STREAM);
    }
}
