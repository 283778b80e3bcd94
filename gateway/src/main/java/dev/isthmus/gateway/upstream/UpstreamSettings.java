package dev.isthmus.gateway.upstream;

import dev.isthmus.gateway.call.Call;
import java.time.Duration;
import java.util.List;

/**
 * What every remote upstream is configured with.
 *
 * @param endpoints one or more, used in turn
 * @param timeout from sending the request to the end of the answer, for calls without a deadline of their own
 * @param maxMessageBytes the largest answer that is taken
 */
public record UpstreamSettings(
        String name, List<Endpoint> endpoints, Duration timeout, Duration connectTimeout, long maxMessageBytes) {

    public UpstreamSettings {
        endpoints = List.copyOf(endpoints);
        if (endpoints.isEmpty()) {
            throw new IllegalArgumentException("upstream '" + name + "' needs an endpoint");
        }
        if (!timeout.isPositive() || !connectTimeout.isPositive()) {
            throw new IllegalArgumentException("the timeouts of upstream '" + name + "' must be positive");
        }
        if (maxMessageBytes < 1) {
            throw new IllegalArgumentException("upstream '" + name + "' must take messages of 1 byte or more");
        }
    }

    /** Nanoseconds that a call has left: of its own deadline, or else of the timeout. Negative when it is late. */
    public long nanosLeft(Call call) {
        return call.hasDeadline() ? call.deadlineNanos() - System.nanoTime() : timeout.toNanos();
    }

    /** The connect timeout in the form that channels take. */
    public int connectTimeoutMillis() {
        return Math.clamp(connectTimeout.toMillis(), 1, Integer.MAX_VALUE);
    }
}
