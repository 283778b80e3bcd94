package dev.isthmus.gateway.upstream;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.HeaderNames;
import dev.isthmus.transcoder.Dialect;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What every remote upstream is configured with.
 *
 * @param endpoints one or more, used in turn
 * @param timeout from sending the request to the end of the answer, for calls without a deadline of their own
 * @param maxMessageBytes the largest answer that is taken
 * @param dialect null for the one that the server's metadata say
 * @param sharedMemory whether clients may refer to memory that they share with the server
 * @param returnedHeaders the headers of answers that clients are to see
 */
public record UpstreamSettings(
        String name,
        List<Endpoint> endpoints,
        Duration timeout,
        Duration connectTimeout,
        long maxMessageBytes,
        @Nullable Dialect dialect,
        boolean sharedMemory,
        HeaderNames returnedHeaders) {

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

    /** Settings of a server without peculiarities. */
    public static UpstreamSettings of(
            String name, List<Endpoint> endpoints, Duration timeout, Duration connectTimeout, long maxMessageBytes) {
        return new UpstreamSettings(
                name, endpoints, timeout, connectTimeout, maxMessageBytes, null, false, HeaderNames.of(List.of()));
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
