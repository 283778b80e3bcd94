package dev.isthmus.gateway.upstream;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.http2.AbusePolicy;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.HeaderAllowList;
import java.time.Duration;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * What every remote server is configured with.
 *
 * @param name of its upstream
 * @param endpoint its address; no name
 * @param authority host and port as the server is to be called
 * @param timeout from sending the request to the end of the answer, for calls without a deadline of their own
 * @param maxMessageBytes the largest answer that is taken
 * @param returnedHeaders the headers of answers that clients are to see
 * @param abuse what a server may cost on one HTTP/2 connection
 * @param ending whether the gateway is being stopped, which is then why connections close
 */
public record UpstreamSettings(
        String name,
        Endpoint endpoint,
        String authority,
        Duration timeout,
        Duration connectTimeout,
        long maxMessageBytes,
        HeaderAllowList returnedHeaders,
        AbusePolicy abuse,
        BooleanSupplier ending) {

    public UpstreamSettings {
        if (endpoint.address().isUnresolved()) {
            throw new IllegalArgumentException("a server of upstream '" + name + "' needs an address, got a name");
        }
        if (!timeout.isPositive() || !connectTimeout.isPositive()) {
            throw new IllegalArgumentException("the timeouts of upstream '" + name + "' must be positive");
        }
        if (maxMessageBytes < 1) {
            throw new IllegalArgumentException("upstream '" + name + "' must take messages of 1 byte or more");
        }
    }

    /** Settings of a server whose headers nobody is to see. */
    public static UpstreamSettings of(
            String name, Endpoint endpoint, Duration timeout, Duration connectTimeout, long maxMessageBytes) {
        return new UpstreamSettings(
                name,
                endpoint,
                endpoint.authority(),
                timeout,
                connectTimeout,
                maxMessageBytes,
                HeaderAllowList.of(List.of()),
                AbusePolicy.NONE,
                () -> false);
    }

    /** Nanoseconds that a call has left: of its own deadline, or else of the timeout. Negative when it is late. */
    public long nanosLeft(Call call) {
        return call.hasDeadline() ? call.deadlineNanos() - System.nanoTime() : timeout.toNanos();
    }

    /** As {@link #nanosLeft}, for a stream, which lasts as long as its client wants: {@link Long#MAX_VALUE} for ever. */
    public long nanosLeftOfStream(Call call) {
        return call.hasDeadline() ? nanosLeft(call) : Long.MAX_VALUE;
    }

    /** The connect timeout in the form that channels take. */
    public int connectTimeoutMillis() {
        return Math.clamp(connectTimeout.toMillis(), 1, Integer.MAX_VALUE);
    }
}
