package dev.isthmus.gateway.http2;

import static dev.isthmus.gateway.http2.FrameType.ACK;
import static dev.isthmus.gateway.http2.FrameType.CONTINUATION;
import static dev.isthmus.gateway.http2.FrameType.DATA;
import static dev.isthmus.gateway.http2.FrameType.GOAWAY;
import static dev.isthmus.gateway.http2.FrameType.HEADERS;
import static dev.isthmus.gateway.http2.FrameType.PADDED;
import static dev.isthmus.gateway.http2.FrameType.PING;
import static dev.isthmus.gateway.http2.FrameType.PRIORITY;
import static dev.isthmus.gateway.http2.FrameType.PUSH_PROMISE;
import static dev.isthmus.gateway.http2.FrameType.RST_STREAM;
import static dev.isthmus.gateway.http2.FrameType.SETTINGS;
import static dev.isthmus.gateway.http2.FrameType.WINDOW_UPDATE;
import static dev.isthmus.gateway.http2.FrameType.WITH_PRIORITY;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Error;

/** The header of the frame being read (RFC 9113, 4.1). */
final class FrameHeader {
    int length;
    int type;
    int flags;
    int streamId;

    /** Reads 9 bytes. */
    void read(ByteBuf in) {
        // One read of eight bytes instead of five: each is checked.
        long first = in.readLong();
        length = (int) (first >>> 40);
        type = (int) (first >>> 32) & 0xff;
        flags = (int) (first >>> 24) & 0xff;
        streamId = ((int) first << 8 | in.readUnsignedByte()) & Integer.MAX_VALUE;
    }

    boolean has(int flag) {
        return (flags & flag) != 0;
    }

    /** Checks the length, and that the stream identifier is 0 or not as the frame type requires. */
    void checkForm() {
        switch (type) {
            case DATA -> {
                checkStream(true);
                checkLength(!has(PADDED) || length > 0);
            }
            case HEADERS -> {
                checkStream(true);
                checkLength(length >= (has(PADDED) ? 1 : 0) + (has(WITH_PRIORITY) ? 5 : 0));
            }
            case PRIORITY -> {
                checkStream(true);
                checkLength(length == 5);
            }
            case RST_STREAM -> {
                checkStream(true);
                checkLength(length == 4);
            }
            case SETTINGS -> {
                checkStream(false);
                checkLength(has(ACK) ? length == 0 : length % 6 == 0);
            }
            case PING -> {
                checkStream(false);
                checkLength(length == 8);
            }
            case GOAWAY -> {
                checkStream(false);
                checkLength(length >= 8);
            }
            case WINDOW_UPDATE -> checkLength(length == 4);
            case CONTINUATION, PUSH_PROMISE -> checkStream(true);
            default -> throw new IllegalStateException("frame type " + type);
        }
    }

    private void checkStream(boolean onStream) {
        if ((streamId != 0) != onStream) {
            throw new Http2Violation(Http2Error.PROTOCOL_ERROR, "a frame of type " + type + " on stream " + streamId);
        }
    }

    private void checkLength(boolean valid) {
        if (!valid) {
            throw new Http2Violation(
                    Http2Error.FRAME_SIZE_ERROR, "a frame of type " + type + " with " + length + " bytes");
        }
    }
}
