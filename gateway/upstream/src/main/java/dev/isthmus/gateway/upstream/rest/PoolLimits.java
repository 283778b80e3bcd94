package dev.isthmus.gateway.upstream.rest;

import java.time.Duration;

/**
 * Limits of the connections to one endpoint from one event loop.
 *
 * @param connections open at the same time, which also limits the requests in flight
 * @param waiting requests that may wait for a connection
 * @param idle how long an unused connection is kept
 */
public record PoolLimits(int connections, int waiting, Duration idle) {

    public static final PoolLimits DEFAULT = new PoolLimits(128, 1024, Duration.ofSeconds(60));

    public PoolLimits {
        if (connections < 1 || waiting < 0 || !idle.isPositive()) {
            throw new IllegalArgumentException("connections must be at least 1, got " + connections
                    + "; waiting requests at least 0, got " + waiting + "; idle time positive, got " + idle);
        }
    }
}
