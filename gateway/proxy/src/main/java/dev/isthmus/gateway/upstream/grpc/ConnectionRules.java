package dev.isthmus.gateway.upstream.grpc;

import java.time.Duration;

/**
 * Bounds of the connections to one server from one event loop.
 *
 * @param connections open at the same time; there is more than one only where the server limits the streams of each
 * @param waiting calls that may wait for a connection, or for room on one
 * @param silence after which a server that calls wait for is asked for a sign of life
 * @param patience how long that sign may take, and how long a new connection's first SETTINGS
 */
record ConnectionRules(int connections, int waiting, Duration silence, Duration patience) {
    private static final Duration SILENCE = Duration.ofSeconds(30);
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    ConnectionRules {
        if (connections < 1 || waiting < 0 || !silence.isPositive() || !patience.isPositive()) {
            throw new IllegalArgumentException(connections + " connections, " + waiting + " waiting calls, " + silence
                    + " of silence and " + patience + " of patience");
        }
    }

    /** At most two pings while a call waits: servers close a connection that pings them a third time unanswered. */
    static ConnectionRules of(Duration timeout) {
        // Not dividedBy, whose BigDecimal takes tens of milliseconds of a start to prepare its tables.
        Duration half = Duration.ofNanos(timeout.toNanos() / 2);
        return new ConnectionRules(8, 4096, half.compareTo(SILENCE) > 0 ? half : SILENCE, PATIENCE);
    }
}
