package dev.isthmus.gateway.tls;

import dev.isthmus.gateway.call.ClientCertificate;
import dev.isthmus.gateway.call.TlsSession;
import dev.isthmus.gateway.settings.ListenerTls;
import io.netty.channel.ChannelHandler;
import io.netty.handler.ssl.SslHandler;
import java.security.cert.CertificateExpiredException;
import java.security.cert.CertificateNotYetValidException;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.List;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;

/** TLS of a listener. Thread-safe. */
public final class ServerTls extends TlsContexts<ServerContexts> {
    private final ListenerTls settings;
    private final List<String> protocols;
    private final TlsMeters.HandshakeMeters meters;

    ServerTls(String owner, ListenerTls settings, List<String> protocols, TlsRegistry registry) {
        super(owner, ServerContexts.files(settings), registry, () -> ServerContexts.load(settings, protocols));
        this.settings = settings;
        this.protocols = protocols;
        this.meters = registry.meters().ofClients();
    }

    public Duration handshakeTimeout() {
        return settings.handshakeTimeout();
    }

    /**
     * The handler of a new connection, which replaces itself by Netty's {@link SslHandler}. It has no timeout.
     */
    public ChannelHandler handler() {
        return handler(0);
    }

    /** As {@link #handler}, with the timeout of the handshake. */
    public ChannelHandler timedHandler() {
        return handler(handshakeTimeout().toMillis());
    }

    private ChannelHandler handler(long timeoutMillis) {
        return new ClientHelloHandler(acquire(), protocols, timeoutMillis);
    }

    /** Counts a handshake. */
    public void ended(HandshakeResult result) {
        meters.ended(result);
    }

    /** Counts a successful handshake. */
    public void ended(TlsSession session, long nanos) {
        meters.ended(session.protocol(), nanos);
    }

    /** Counts a handshake. */
    public void failed(Throwable cause) {
        meters.ended(HandshakeResult.of(cause));
    }

    /**
     * What was agreed in a handshake that has succeeded.
     *
     * @param host the name that the client asked for
     * @throws CertificateExpiredException if the client's certificate has expired since the session that it resumes
     *     began
     * @throws CertificateNotYetValidException never after a handshake
     */
    public static TlsSession session(SslHandler handler, @Nullable String host)
            throws CertificateExpiredException, CertificateNotYetValidException {
        SSLEngine engine = handler.engine();
        SSLSession session = engine.getSession();
        // A session without a certificate only says so with an exception, which costs 2 % of a handshake.
        boolean asked = engine.getNeedClientAuth() || engine.getWantClientAuth();
        X509Certificate certificate = asked ? certificate(session) : null;
        ClientCertificate client = null;
        if (certificate != null) {
            certificate.checkValidity();
            client = CertificateNames.ofClient(certificate);
        }
        return new TlsSession(session.getProtocol(), session.getCipherSuite(), host, client);
    }

    private static @Nullable X509Certificate certificate(SSLSession session) {
        try {
            return session.getPeerCertificates()[0] instanceof X509Certificate certificate ? certificate : null;
        } catch (SSLPeerUnverifiedException none) {
            return null;
        }
    }
}
