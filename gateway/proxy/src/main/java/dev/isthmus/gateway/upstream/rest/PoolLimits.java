package dev.isthmus.gateway.upstream.rest;

import java.time.Duration;

/**
 * Bounds of the connections to one endpoint from one event loop.
 *
 * @param connections open at the same time, which is also the number of requests under way
 * @param waiting requests that may wait for a connection
 * @param idle how long a connection is kept that nobody uses
 */
public record PoolLimits(int connections, int waiting, Duration idle) {

    public static final PoolLimits DEFAULT = new PoolLimits(128, 1024, Duration.ofSeconds(60));

    public PoolLimits {
        if (connections < 1 || waiting < 0 || !idle.isPositive()) {
            throw new IllegalArgumentException("a pool of " + connections + " connections, " + waiting
                    + " waiting requests and " + idle + " of idleness");
        }
    }
}
