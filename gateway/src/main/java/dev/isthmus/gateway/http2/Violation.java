package dev.isthmus.gateway.http2;

import io.netty.handler.codec.http2.Http2Error;

/** What a peer did against the protocol or our limits. Thrown, it ends the connection. */
final class Violation extends RuntimeException {
    private final Http2Error error;

    Violation(Http2Error error, String message) {
        super(message, null, false, false);
        this.error = error;
    }

    Http2Error error() {
        return error;
    }
}
