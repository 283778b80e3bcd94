package dev.isthmus.gateway.shadow;

import java.util.concurrent.TimeUnit;

/**
 * How two responses differed.
 *
 * @param output its name; empty if the response could not be decoded
 * @param reason the metric's tag value; "difference" if numbers or elements differ
 * @param difference the largest of two numbers; infinite if they cannot be compared
 * @param requestId of the call
 * @param nanoTime when
 */
record ResponseMismatch(String output, String reason, double difference, String requestId, long nanoTime) {
    long secondsAgo(long now) {
        return TimeUnit.NANOSECONDS.toSeconds(now - nanoTime);
    }
}
