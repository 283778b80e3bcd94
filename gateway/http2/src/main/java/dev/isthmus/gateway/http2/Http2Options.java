package dev.isthmus.gateway.http2;

/**
 * Limits that we announce to the peer and enforce.
 *
 * @param streamWindow bytes that the peer may send on a stream before {@link Http2Stream#consumed}
 * @param connectionWindow bytes that the peer may send on all streams before a WINDOW_UPDATE; at least 65,535
 * @param maxFrameSize largest payload of a received frame in bytes, 16,384 to 16,777,215
 * @param maxConcurrentStreams streams that the peer may have open at once; ignored by a client, which accepts none
 * @param maxHeaderBytes bytes of a message's header fields: names, values and 32 for each field (RFC 9113, 6.5.2)
 * @param maxHeaderFields header fields of a message, without pseudo-header fields
 * @param abuse limits on the load that the peer may cause
 */
public record Http2Options(
        int streamWindow,
        int connectionWindow,
        int maxFrameSize,
        int maxConcurrentStreams,
        int maxHeaderBytes,
        int maxHeaderFields,
        AbuseLimits abuse) {
    /** The initial window of a connection, and of streams before SETTINGS (RFC 9113, 6.9.2). */
    static final int DEFAULT_WINDOW = 65_535;

    /** The frame size that every endpoint accepts (RFC 9113, 4.2). */
    static final int DEFAULT_FRAME_SIZE = 16_384;

    static final int MAX_FRAME_SIZE = (1 << 24) - 1;
}
