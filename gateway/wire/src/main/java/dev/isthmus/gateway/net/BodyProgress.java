package dev.isthmus.gateway.net;

import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Checks that a body makes progress and keeps its minimum rate. */
public final class BodyProgress {
    private long bytes;
    private long progressAt;
    private long windowStart;
    private long windowBytes;

    public void begin(long received, long now) {
        bytes = received;
        progressAt = now;
        windowStart = now;
        windowBytes = received;
    }

    /**
     * Checks the timeouts; to be called periodically.
     *
     * @param received bytes of the body so far
     * @return the timeout that has expired, null if none
     */
    public @Nullable TimeoutRule check(long received, long now, ConnectionTimeouts timeouts) {
        if (received != bytes) {
            bytes = received;
            progressAt = now;
        }
        if (ConnectionTimeouts.passed(timeouts.requestBody(), progressAt, now)) {
            return TimeoutRule.REQUEST_BODY;
        }
        if (ConnectionTimeouts.passed(timeouts.requestBody(), windowStart, now)) {
            double seconds = (double) (now - windowStart) / TimeUnit.SECONDS.toNanos(1);
            if (received - windowBytes < timeouts.minBodyRate() * seconds) {
                return TimeoutRule.REQUEST_BODY_RATE;
            }
            windowStart = now;
            windowBytes = received;
        }
        return null;
    }
}
