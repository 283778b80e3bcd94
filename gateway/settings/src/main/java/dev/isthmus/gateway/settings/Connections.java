package dev.isthmus.gateway.settings;

import java.time.Duration;

/** How many connections clients may have, and how long they may take. */
@Doc("How many connections clients may have, and how long clients may take. With 0s, or 0, there is no such limit.")
public record Connections(
        @Doc("Open connections of all clients; more are closed at once.") @Range(min = 1, max = 1_000_000)
        int maxConnections,

        @Doc("The same of one address; 0: any number, as all clients behind a proxy have one address.")
        @Range(max = 1_000_000)
        int maxConnectionsPerAddress,

        @Doc(
                "From the first byte of a request's head to its last, and from a connection's beginning to its first byte.")
        @OrZero
        Duration requestHeadersTimeout,

        @Doc("Without a byte of a body that has begun, or of a gRPC message.") @OrZero
        Duration requestBodyTimeout,

        @Doc("Bytes a second of a body, averaged over request_body_timeout.") @Range(max = 1 << 30)
        int minRequestBodyRate,

        @Doc("Without a byte of either side on an HTTP/2 stream whose client could send, or take more of an answer.")
        @OrZero
        Duration streamIdleTimeout,

        @Doc("Without a byte that the client takes of an answer, or of an HTTP/2 answer that is complete.") @OrZero
        Duration writeTimeout,

        @Doc("Of a connection without a request. Where four fifths of max_connections are open, at most"
                + " request_headers_timeout.")
        @OrZero
        Duration idleTimeout,

        @Doc("Without a byte from the client, after which the kernel asks whether it is there; whole seconds.") @OrZero
        Duration tcpKeepalive,

        @Doc("Without a byte from an HTTP/2 client, after which it is sent a PING.") @OrZero
        Duration http2KeepaliveInterval,

        @Doc("Of the answer to that PING; without one the connection is closed.") @OrZero
        Duration http2KeepaliveTimeout) {
    public static final Connections DEFAULT = new Connections(
            10_000,
            0,
            Duration.ofSeconds(10),
            Duration.ofSeconds(30),
            240,
            Duration.ofMinutes(5),
            Duration.ofSeconds(30),
            Duration.ofHours(1),
            Duration.ofMinutes(1),
            Duration.ofMinutes(1),
            Duration.ofSeconds(20));
}
