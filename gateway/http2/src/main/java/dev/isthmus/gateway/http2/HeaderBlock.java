package dev.isthmus.gateway.http2;

import io.netty.handler.codec.http2.Http2Headers;
import org.jspecify.annotations.Nullable;

/**
 * A decoded header block with what the connection has to know of it.
 *
 * @param headers read only
 * @param use what it may be
 * @param status of a response, 0 otherwise
 * @param contentLength -1 where it has none
 * @param problem why it is malformed, null if it is not
 */
record HeaderBlock(
        Http2Headers headers,
        MessageKind use,
        int status,
        long contentLength,
        @Nullable String problem) {

    /** What a block may be, by its pseudo-header fields. */
    enum MessageKind {
        REQUEST,
        RESPONSE,
        TRAILERS,
        NOTHING,
        /** More fields than are taken; the headers are those before the limit. */
        TOO_LARGE
    }

    /** Whether it is an interim response (RFC 9110, 15.2). */
    boolean interim() {
        return status >= 100 && status < 200;
    }
}
