package dev.isthmus.gateway.call;

import java.net.SocketAddress;
import org.jspecify.annotations.Nullable;

/**
 * What is known of a client's connection. Ingress creates it once per connection, when its protocol is known.
 *
 * @param listener the name of the listener that accepted it; empty if it has none
 * @param peer the address of whoever made the connection: that of the PROXY protocol header if there is one; null if it
 *     is not known. {@link CallContext#peer()} is that of a request's client
 * @param tls what was agreed in the TLS handshake; null for a connection in plain text
 * @param trustedProxy whether the peer is a configured proxy, whose headers name the client
 */
public record ClientConnection(
        String listener,
        @Nullable SocketAddress peer,
        @Nullable TlsSession tls,
        boolean trustedProxy) {

    /** A connection that a client made directly. */
    public ClientConnection(String listener, @Nullable SocketAddress peer, @Nullable TlsSession tls) {
        this(listener, peer, tls, false);
    }

    /** The certificate that the client proved to own; null if there is none. */
    public @Nullable ClientCertificate certificate() {
        return tls == null ? null : tls.certificate();
    }
}
