package dev.isthmus.gateway.call;

import io.netty.util.NetUtil;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import org.jspecify.annotations.Nullable;

/** What is known of a client's connection. Ingress creates it once per connection, when its protocol is known. */
public final class ClientConnection {
    private final String listener;
    private final @Nullable SocketAddress peer;
    private final @Nullable TlsSession tls;
    private final boolean trustedProxy;
    /** Made for the first log line; threads may make equal ones. */
    private @Nullable String peerText;

    /**
     * @param listener the name of the listener that accepted it; empty if it has none
     * @param peer the address of whoever made the connection: that of the PROXY protocol header if there is one; null
     *     if it is not known. {@link CallContext#peer()} is that of a request's client
     * @param tls what was agreed in the TLS handshake; null for a connection in plain text
     * @param trustedProxy whether the peer is a configured proxy, whose headers name the client
     */
    public ClientConnection(
            String listener, @Nullable SocketAddress peer, @Nullable TlsSession tls, boolean trustedProxy) {
        this.listener = listener;
        this.peer = peer;
        this.tls = tls;
        this.trustedProxy = trustedProxy;
    }

    /** The name of the listener that accepted it; empty if it has none. */
    public String listener() {
        return listener;
    }

    /** The address of whoever made the connection; null if it is not known. */
    public @Nullable SocketAddress peer() {
        return peer;
    }

    /** The peer as {@code ADDRESS:PORT}; null if it is not known. */
    public @Nullable String peerText() {
        String text = peerText;
        if (text == null && peer != null) {
            text = text(peer);
            peerText = text;
        }
        return text;
    }

    /** An address as {@code ADDRESS:PORT}. */
    public static String text(SocketAddress address) {
        return address instanceof InetSocketAddress ip ? NetUtil.toSocketAddressString(ip) : address.toString();
    }

    /** What was agreed in the TLS handshake; null for a connection in plain text. */
    public @Nullable TlsSession tls() {
        return tls;
    }

    /** Whether the peer is a configured proxy, whose headers name the client. */
    public boolean trustedProxy() {
        return trustedProxy;
    }

    /** The certificate that the client proved to own; null if there is none. */
    public @Nullable ClientCertificate certificate() {
        return tls == null ? null : tls.certificate();
    }
}
