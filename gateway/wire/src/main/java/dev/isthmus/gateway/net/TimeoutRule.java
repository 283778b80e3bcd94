package dev.isthmus.gateway.net;

import java.util.Locale;

/** The limit of time that a client's connection or request has met. */
public enum TimeoutRule {
    /** The head of a request, or an HTTP/2 preface, frame or header block, is not complete in time. */
    REQUEST_HEADERS,
    /** A body, or a gRPC message, that has begun does not go on. */
    REQUEST_BODY,
    /** A body comes in fewer bytes a second than it must. */
    REQUEST_BODY_RATE,
    /** An HTTP/2 stream on which neither side sends, though its client could. */
    STREAM_IDLE,
    /** An answer of which the client takes nothing. */
    WRITE,
    /** A connection without a request. */
    IDLE,
    /** An HTTP/2 client that does not answer a PING. */
    KEEPALIVE;

    /** In logs and metrics. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }
}
