package dev.isthmus.gateway.settings;

import java.time.Duration;

@Doc("Limits on client connections, in number and time. 0 or 0s means no limit.")
public record Connections(
        @Doc("Maximum number of client connections; more are closed at once.")
        @Range(min = 1, max = 1_000_000)
        @Default("10000")
        int maxConnections,

        @Doc("Maximum number of connections from one address. 0: no limit, because all clients behind a proxy "
                + "share one.")
        @Range(max = 1_000_000)
        @Default("0")
        int maxConnectionsPerAddress,

        @Doc("Timeout from the first to the last byte of a request's head, and from the start of a connection "
                + "to its first byte.")
        @OrZero
        @Default("10s")
        Duration requestHeadersTimeout,

        @Doc("Timeout without a byte of a body, or gRPC message, that has begun.") @OrZero @Default("30s")
        Duration requestBodyTimeout,

        @Doc("Minimum rate of a body in bytes per second, averaged over request_body_timeout.")
        @Range(max = 1 << 30)
        @Default("240")
        int minRequestBodyRate,

        @Doc("Timeout without a byte of either side on an HTTP/2 stream whose client could send or read more.")
        @OrZero
        @Default("5m")
        Duration streamIdleTimeout,

        @Doc("Timeout without a byte that the client reads of a response, or of a complete response over " + "HTTP/2.")
        @OrZero
        @Default("30s")
        Duration writeTimeout,

        @Doc("Timeout of a connection without a request. With four fifths of max_connections open, at most "
                + "request_headers_timeout.")
        @OrZero
        @Default("1h")
        Duration idleTimeout,

        @Doc("Silence after which the kernel probes the connection; whole seconds.") @OrZero @Default("60s")
        Duration tcpKeepalive,

        @Doc("Silence after which an HTTP/2 client is sent a PING.") @OrZero @Default("60s")
        Duration http2KeepaliveInterval,

        @Doc("Timeout of the reply to that PING; without it the connection is closed.") @OrZero @Default("20s")
        Duration http2KeepaliveTimeout) {}
