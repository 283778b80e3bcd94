package dev.isthmus.gateway.ingress;

import java.time.Duration;

/** The header and gRPC metadata key that says when a rejected client may retry (RFC 9110, 10.2.3). */
final class RetryAfter {
    static final String HEADER = "retry-after";

    private RetryAfter() {}

    /** Whole seconds, rounded up; at least one. */
    static String seconds(Duration wait) {
        return Long.toString(Math.max(1, wait.plusMillis(999).toSeconds()));
    }
}
