package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.upstream.Upstream;

/** Creates the client of a server. May be called on an event loop. */
@FunctionalInterface
public interface ReplicaFactory {

    /**
     * A client that has not connected yet.
     *
     * @param address an IP address and port, never a host name
     * @param authority host and port to send as the authority
     */
    Upstream open(Endpoint address, String authority);
}
