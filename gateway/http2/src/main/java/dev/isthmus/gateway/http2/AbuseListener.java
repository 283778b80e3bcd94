package dev.isthmus.gateway.http2;

import java.net.SocketAddress;

/** Hears of connections that are closed because their peer went beyond {@link AbuseLimits}; on their event loops. */
@FunctionalInterface
public interface AbuseListener {

    /**
     * A connection is being closed.
     *
     * @param what the peer did, with the counts
     */
    void abused(SocketAddress peer, AbuseRule rule, String what);
}
