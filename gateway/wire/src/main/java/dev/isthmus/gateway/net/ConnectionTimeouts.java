package dev.isthmus.gateway.net;

import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;

/**
 * Timeouts of client connections in nanoseconds; 0 for none.
 *
 * @param requestHeaders from the first to the last byte of a request's head, and from connect to the first byte
 * @param requestBody without progress of a body that has begun
 * @param minBodyRate minimum rate of a body in bytes per second, averaged over {@code requestBody}; 0 for none
 * @param streamIdle without a byte in either direction on an HTTP/2 stream whose client could send or receive
 * @param write without a byte of a response read by the client
 * @param idle of a connection without a request
 * @param keepaliveInterval without a byte from an HTTP/2 client, before a PING is sent
 * @param keepaliveTimeout of the acknowledgement of that PING
 */
public record ConnectionTimeouts(
        long requestHeaders,
        long requestBody,
        int minBodyRate,
        long streamIdle,
        long write,
        long idle,
        long keepaliveInterval,
        long keepaliveTimeout) {
    public static final ConnectionTimeouts NONE = new ConnectionTimeouts(0, 0, 0, 0, 0, 0, 0, 0);

    private static final long SHORTEST = TimeUnit.MILLISECONDS.toNanos(5);
    private static final long LONGEST = TimeUnit.SECONDS.toNanos(5);

    /**
     * Interval of the checks of a connection, and so the largest delay of a timeout, in nanoseconds; 0 for no checks.
     *
     * @param tlsHandshake timeout of the TLS handshake; 0 for none
     */
    public long interval(long tlsHandshake) {
        long shortest = LongStream.of(
                        tlsHandshake,
                        requestHeaders,
                        requestBody,
                        streamIdle,
                        write,
                        idle,
                        keepaliveInterval,
                        keepaliveTimeout)
                .filter(timeout -> timeout > 0)
                .min()
                .orElse(0);
        return shortest == 0 ? 0 : Math.clamp(shortest / 4, SHORTEST, LONGEST);
    }

    /** The message to a client whose connection or request timed out. */
    public String describe(TimeoutRule rule) {
        return switch (rule) {
            case TLS_HANDSHAKE -> "TLS handshake: not complete in time";
            case REQUEST_HEADERS -> "request head: not complete within " + text(requestHeaders);
            case REQUEST_BODY -> "request body: nothing received for " + text(requestBody) + " (request_body_timeout)";
            case REQUEST_BODY_RATE ->
                "request body: below the minimum of " + minBodyRate + " bytes per second over " + text(requestBody);
            case STREAM_IDLE -> "stream: nothing sent or received for " + text(streamIdle) + " (stream_idle_timeout)";
            case WRITE -> "response: nothing read by the client for " + text(write);
            case IDLE -> "connection: no request for " + text(idle);
            case KEEPALIVE -> "connection: PING not acknowledged within " + text(keepaliveTimeout);
        };
    }

    private static String text(long nanos) {
        return TimeUnit.NANOSECONDS.toMillis(nanos) + " ms";
    }

    /** The timeouts while many connections are open: the idle timeout is at most that of request headers. */
    public ConnectionTimeouts crowded() {
        long shorter = requestHeaders == 0 ? idle : Math.min(idle, requestHeaders);
        return new ConnectionTimeouts(
                requestHeaders,
                requestBody,
                minBodyRate,
                streamIdle,
                write,
                idle == 0 ? requestHeaders : shorter,
                keepaliveInterval,
                keepaliveTimeout);
    }

    public static boolean passed(long timeout, long since, long now) {
        return timeout > 0 && now - since >= timeout;
    }
}
