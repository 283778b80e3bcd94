package dev.isthmus.gateway.net;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * What a connection does at one moment.
 *
 * @param side client: a client made it; server: the gateway made it to a server
 * @param owner the listener, or the upstream
 * @param peer the address of the other end
 * @param protocol HTTP/1.1, HTTP/2, or what it waits for before that is known
 * @param tls version and cipher suite; null for plain text
 * @param idle time since it was last used; null if it is not known
 * @param streams requests that have not ended
 * @param bytesWaiting bytes that wait for the other end to read
 */
public record ConnectionDescription(
        ConnectionSide side,
        String owner,
        String peer,
        String local,
        String protocol,
        @Nullable String tls,
        Duration age,
        @Nullable Duration idle,
        int streams,
        long bytesWaiting) {

    public enum ConnectionSide implements Labelled {
        CLIENT,
        SERVER
    }

    public record ConnectionUse(
            String protocol, int streams, @Nullable Duration idle) {}
}
