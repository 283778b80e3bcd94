package dev.isthmus.gateway.http2;

import java.net.SocketAddress;

/**
 * Notified when a connection is closed because its peer exceeded {@link AbuseLimits}, on that connection's event loop.
 */
@FunctionalInterface
public interface AbuseListener {

    /**
     * A connection is being closed.
     *
     * @param what the peer did, with the counts
     */
    void abused(SocketAddress peer, AbuseRule rule, String what);
}
