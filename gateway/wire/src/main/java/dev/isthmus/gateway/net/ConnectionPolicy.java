package dev.isthmus.gateway.net;

/**
 * What clients' connections may take.
 *
 * @param most open connections of all clients
 * @param mostOfAddress of one address; 0 for any number
 * @param mostUnended HTTP/2 requests that have begun and not ended, streams among them; above it each connection may have its
 *     share of as many again
 * @param tcpKeepaliveSeconds of silence, after which the kernel asks whether the client is there; 0 for never
 */
public record ConnectionPolicy(
        ConnectionTimeouts timeouts,
        int most,
        int mostOfAddress,
        int mostUnended,
        int tcpKeepaliveSeconds,
        ConnectionEvents events) {
    /** Everything is taken, for as long as it takes. */
    public static final ConnectionPolicy NONE = new ConnectionPolicy(
            ConnectionTimeouts.NONE, Integer.MAX_VALUE, 0, Integer.MAX_VALUE, 0, ConnectionEvents.NONE);
}
