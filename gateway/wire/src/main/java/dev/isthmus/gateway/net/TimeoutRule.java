package dev.isthmus.gateway.net;

/** The timeouts of client connections and requests. */
public enum TimeoutRule implements Labelled {
    /** The TLS handshake was not complete in time. */
    TLS_HANDSHAKE,
    /** The head of a request, or an HTTP/2 preface, frame or header block, was not complete in time. */
    REQUEST_HEADERS,
    /** A body or gRPC message that has begun made no progress. */
    REQUEST_BODY,
    /** A body was received below the minimum rate. */
    REQUEST_BODY_RATE,
    /** An HTTP/2 stream without data in either direction, though its client could send or receive. */
    STREAM_IDLE,
    /** A response that the client does not read. */
    WRITE,
    /** A connection without a request. */
    IDLE,
    /** An HTTP/2 client that does not acknowledge a PING. */
    KEEPALIVE
}
