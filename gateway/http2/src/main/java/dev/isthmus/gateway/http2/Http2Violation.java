package dev.isthmus.gateway.http2;

import io.netty.handler.codec.http2.Http2Error;
import org.jspecify.annotations.Nullable;

/** A protocol error of the peer, or a limit that it exceeded. When thrown, it closes the connection. */
final class Http2Violation extends RuntimeException {
    private final Http2Error error;
    private final @Nullable AbuseRule rule;

    Http2Violation(Http2Error error, String message) {
        this(error, null, message);
    }

    /** The peer exceeded one of {@link AbuseLimits}. */
    Http2Violation(AbuseRule rule, String message) {
        this(Http2Error.ENHANCE_YOUR_CALM, rule, message);
    }

    private Http2Violation(Http2Error error, @Nullable AbuseRule rule, String message) {
        super(message, null, false, false);
        this.error = error;
        this.rule = rule;
    }

    Http2Error error() {
        return error;
    }

    /** The limit that was exceeded; null for a protocol error. */
    @Nullable
    AbuseRule rule() {
        return rule;
    }
}
