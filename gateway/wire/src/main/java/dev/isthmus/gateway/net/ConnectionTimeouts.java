package dev.isthmus.gateway.net;

import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;

/**
 * How long clients may take, in nanoseconds; 0 for any time.
 *
 * @param requestHeaders of the head of a request from its first byte on, and of the first byte of a connection
 * @param requestBody without a byte of a body that has begun
 * @param minBodyRate bytes a second of a body, averaged over {@code requestBody}; 0 for any
 * @param streamIdle without a byte of either side on an HTTP/2 stream whose client could send or receive
 * @param write without a byte taken of an answer
 * @param idle of a connection without a request
 * @param keepaliveInterval without a byte from an HTTP/2 client, after which it is sent a PING
 * @param keepaliveTimeout of the answer to that
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

    /** How often a connection is to be looked at: a timeout may be late by as much. 0 for never. */
    public long interval() {
        long shortest = LongStream.of(
                        requestHeaders, requestBody, streamIdle, write, idle, keepaliveInterval, keepaliveTimeout)
                .filter(timeout -> timeout > 0)
                .min()
                .orElse(0);
        return shortest == 0 ? 0 : Math.clamp(shortest / 4, SHORTEST, LONGEST);
    }

    /** What a client is told that has met a limit. */
    public String describe(TimeoutRule rule) {
        return switch (rule) {
            case REQUEST_HEADERS -> "request head: it is to be complete within " + text(requestHeaders);
            case REQUEST_BODY -> "request body: nothing more of it came for " + text(requestBody);
            case REQUEST_BODY_RATE ->
                "request body: at least " + minBodyRate + " bytes a second are expected over " + text(requestBody);
            case STREAM_IDLE -> "stream: nothing was sent on it for " + text(streamIdle);
            case WRITE -> "response: nothing of it was taken for " + text(write);
            case IDLE -> "connection: it had no request for " + text(idle);
            case KEEPALIVE -> "connection: a PING was not answered for " + text(keepaliveTimeout);
        };
    }

    private static String text(long nanos) {
        return TimeUnit.NANOSECONDS.toMillis(nanos) + " ms";
    }

    /** The same, with idle connections ended as soon as silent ones. */
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

    /** Whether a timeout has passed. */
    public static boolean passed(long timeout, long since, long now) {
        return timeout > 0 && now - since >= timeout;
    }
}
