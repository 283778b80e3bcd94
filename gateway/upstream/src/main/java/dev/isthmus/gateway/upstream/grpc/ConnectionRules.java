package dev.isthmus.gateway.upstream.grpc;

import java.time.Duration;

/**
 * Limits of the connections to one server from one event loop.
 *
 * @param connections open at the same time; more than one is opened only if the server limits the streams of each
 * @param waiting calls that may wait for a connection, or for a stream on one
 * @param pingIdle idle time after which a server with active calls is sent a PING
 * @param pingTimeout timeout of the PING's acknowledgement, and of a new connection's first SETTINGS
 */
record ConnectionRules(int connections, int waiting, Duration pingIdle, Duration pingTimeout) {
    private static final Duration PING_IDLE = Duration.ofSeconds(30);
    private static final Duration PING_TIMEOUT = Duration.ofSeconds(10);

    ConnectionRules {
        if (connections < 1 || waiting < 0 || !pingIdle.isPositive() || !pingTimeout.isPositive()) {
            throw new IllegalArgumentException("connections must be at least 1, got " + connections
                    + "; waiting calls at least 0, got " + waiting + "; ping idle time and timeout positive, got "
                    + pingIdle + " and " + pingTimeout);
        }
    }

    /** At most two PINGs while a call waits: servers close a connection at the third one without data. */
    static ConnectionRules of(Duration timeout) {
        // Not dividedBy: it uses BigDecimal, whose initialization adds tens of milliseconds to startup.
        Duration half = Duration.ofNanos(timeout.toNanos() / 2);
        return new ConnectionRules(8, 4096, half.compareTo(PING_IDLE) > 0 ? half : PING_IDLE, PING_TIMEOUT);
    }
}
