package dev.isthmus.gateway.http2;

import org.jspecify.annotations.Nullable;

/**
 * Why a stream ended early.
 *
 * @param errorCode of RST_STREAM or GOAWAY (RFC 9113, 7)
 * @param cause why the connection was closed, if known
 */
public record StreamEnd(
        Cause kind, long errorCode, @Nullable Throwable cause) {

    /** The kind of end. */
    public enum Cause {
        /** The peer reset the stream. */
        RESET,
        /** The peer did not process it: RST_STREAM with REFUSED_STREAM, or a GOAWAY with a lower last stream. */
        REFUSED,
        /** We reset the stream because of the peer's protocol error. */
        VIOLATION,
        /** The connection closed or failed. It is unknown whether the peer processed the stream. */
        LOST
    }

    /** Whether the cause is a protocol error of the peer, or a limit that it exceeded. */
    public boolean isPeerViolation() {
        return cause instanceof Http2Violation;
    }
}
