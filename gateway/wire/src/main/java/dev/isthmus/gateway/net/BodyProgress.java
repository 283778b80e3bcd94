package dev.isthmus.gateway.net;

import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Whether a body goes on, and fast enough. */
public final class BodyProgress {
    private long bytes;
    private long movedAt;
    private long windowBegan;
    private long windowBytes;

    /** The body is waited for from now on. */
    public void begin(long received, long now) {
        bytes = received;
        movedAt = now;
        windowBegan = now;
        windowBytes = received;
    }

    /**
     * Looks at it once more.
     *
     * @param received bytes of the body so far
     * @return the limit that it has met
     */
    public @Nullable TimeoutRule check(long received, long now, ConnectionTimeouts timeouts) {
        if (received != bytes) {
            bytes = received;
            movedAt = now;
        }
        if (ConnectionTimeouts.passed(timeouts.requestBody(), movedAt, now)) {
            return TimeoutRule.REQUEST_BODY;
        }
        if (ConnectionTimeouts.passed(timeouts.requestBody(), windowBegan, now)) {
            double seconds = (double) (now - windowBegan) / TimeUnit.SECONDS.toNanos(1);
            if (received - windowBytes < timeouts.minBodyRate() * seconds) {
                return TimeoutRule.REQUEST_BODY_RATE;
            }
            windowBegan = now;
            windowBytes = received;
        }
        return null;
    }
}
