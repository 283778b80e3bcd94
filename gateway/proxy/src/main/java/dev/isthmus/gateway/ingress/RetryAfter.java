package dev.isthmus.gateway.ingress;

import java.time.Duration;

/** The header, and the gRPC metadata, that says when a client that was refused may ask again (RFC 9110, 10.2.3). */
final class RetryAfter {
    static final String HEADER = "retry-after";

    private RetryAfter() {}

    /** Whole seconds, rounded up; at least one. */
    static String seconds(Duration wait) {
        return Long.toString(Math.max(1, wait.plusMillis(999).toSeconds()));
    }
}
