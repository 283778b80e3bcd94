package dev.isthmus.gateway.call;

import java.net.SocketAddress;
import org.jspecify.annotations.Nullable;

/**
 * What is known of a client's connection. Ingress creates it once per connection, when its protocol is known.
 *
 * @param listener the name of the listener that accepted it; empty if it has none
 * @param peer the client's address; null if it is not known
 * @param tls what was agreed in the TLS handshake; null for a connection in plain text
 */
public record ClientConnection(
        String listener, @Nullable SocketAddress peer, @Nullable TlsSession tls) {

    /** The certificate that the client proved to own; null if there is none. */
    public @Nullable ClientCertificate certificate() {
        return tls == null ? null : tls.certificate();
    }
}
