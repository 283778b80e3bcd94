package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.upstream.Upstream;

/** Makes the client of a server that was found. May be called on an event loop. */
@FunctionalInterface
public interface ReplicaFactory {

    /**
     * A client without connections.
     *
     * @param address no name
     * @param authority host and port as the server is to be called
     */
    Upstream open(Endpoint address, String authority);
}
