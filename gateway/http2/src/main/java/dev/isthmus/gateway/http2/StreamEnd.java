package dev.isthmus.gateway.http2;

import org.jspecify.annotations.Nullable;

/**
 * Why a stream ended early.
 *
 * @param errorCode of RST_STREAM or GOAWAY (RFC 9113, 7)
 * @param cause what closed the connection, where that is known
 */
public record StreamEnd(
        Cause kind, long errorCode, @Nullable Throwable cause) {

    /** What happened. */
    public enum Cause {
        /** The peer reset the stream. */
        RESET,
        /** The peer has processed nothing of it: RST_STREAM with REFUSED_STREAM, or a GOAWAY that leaves it out. */
        REFUSED,
        /** The peer broke the protocol on this stream, which we have reset for it. */
        VIOLATION,
        /** The connection is closed or failed. Whether the peer has processed the stream is unknown. */
        LOST
    }

    /** Whether the connection was closed because the peer broke the protocol, or went beyond our limits. */
    public boolean peerBrokeRules() {
        return cause instanceof Http2Violation;
    }

    /** Whether the peer has certainly not begun to process the request, so that it may be sent once more. */
    public boolean unprocessed() {
        return kind == Cause.REFUSED;
    }
}
