package dev.isthmus.gateway.http2;

import io.netty.handler.codec.http2.Http2Headers;

/**
 * A decoded header block, with the values that the connection itself needs.
 *
 * @param headers read only
 * @param use the kind of message that it belongs to
 * @param status of a response, 0 otherwise
 * @param contentLength in bytes, -1 if absent
 */
record HeaderBlock(Http2Headers headers, MessageKind use, int status, long contentLength) {

    /** The kind of a block, determined by its pseudo-header fields. */
    enum MessageKind {
        REQUEST,
        RESPONSE,
        TRAILERS,
        /** None: the block is malformed. */
        NOTHING,
        /** The fields exceed the limit; the headers are those before the limit. */
        TOO_LARGE
    }

    boolean isWellFormed() {
        return use != MessageKind.NOTHING && use != MessageKind.TOO_LARGE;
    }

    /** Whether it is an interim response (RFC 9110, 15.2). */
    boolean interim() {
        return status >= 100 && status < 200;
    }
}
