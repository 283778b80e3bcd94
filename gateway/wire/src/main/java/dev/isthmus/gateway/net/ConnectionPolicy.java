package dev.isthmus.gateway.net;

/**
 * Limits on client connections.
 *
 * @param most limit of open connections
 * @param mostOfAddress limit of open connections from one address; 0 for no limit
 * @param mostUnended limit of HTTP/2 requests whose body has not ended, including streams; beyond it, each connection
 *     may have its share of as many again
 * @param tcpKeepaliveSeconds idle time after which the kernel sends keepalive probes; 0 for never
 */
public record ConnectionPolicy(
        ConnectionTimeouts timeouts,
        int most,
        int mostOfAddress,
        int mostUnended,
        int tcpKeepaliveSeconds,
        ConnectionEvents events) {
    public static final ConnectionPolicy NONE = new ConnectionPolicy(
            ConnectionTimeouts.NONE, Integer.MAX_VALUE, 0, Integer.MAX_VALUE, 0, ConnectionEvents.NONE);
}
