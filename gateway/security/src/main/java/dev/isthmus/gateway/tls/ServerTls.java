package dev.isthmus.gateway.tls;

import dev.isthmus.gateway.call.ClientCertificate;
import dev.isthmus.gateway.call.TlsSession;
import dev.isthmus.gateway.settings.ListenerTls;
import dev.isthmus.gateway.settings.ListenerTls.CertificateFiles;
import dev.isthmus.gateway.settings.ListenerTls.ClientCertificateMode;
import dev.isthmus.gateway.settings.ListenerTls.ClientCertificates;
import dev.isthmus.gateway.settings.TlsFileException;
import dev.isthmus.gateway.settings.TlsFiles;
import dev.isthmus.gateway.settings.TlsFiles.KeyedCertificate;
import dev.isthmus.gateway.settings.WatchedFiles;
import io.netty.channel.ChannelHandler;
import io.netty.handler.ssl.ClientAuth;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.ReferenceCountUtil;
import java.nio.file.Path;
import java.security.cert.CertificateExpiredException;
import java.security.cert.CertificateNotYetValidException;
import java.security.cert.CertificateParsingException;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLSession;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;

/** TLS of a listener. Thread-safe. */
public final class ServerTls extends TlsContexts {
    /** Sessions that clients may resume by id, which only TLS 1.2 without tickets needs. */
    private static final int SESSIONS = 4096;

    private static final int SESSION_SECONDS = 3600;
    // Types of GeneralName (RFC 5280, 4.2.1.6).
    private static final int EMAIL = 1;
    private static final int DNS = 2;
    private static final int URI = 6;

    private final ListenerTls settings;
    private final List<String> protocols;
    private final TlsMeters.HandshakeMeters meters;

    ServerTls(String owner, ListenerTls settings, List<String> protocols, TlsRegistry registry) {
        super(owner, files(settings), registry, () -> load(settings, protocols));
        this.settings = settings;
        this.protocols = protocols;
        this.meters = registry.meters().clients;
    }

    private static WatchedFiles files(ListenerTls settings) {
        List<Path> paths = new ArrayList<>();
        settings.certificates().forEach(each -> paths.addAll(List.of(each.certificate(), each.key())));
        ClientCertificates clients = settings.clientCertificates();
        Stream.of(clients.ca(), clients.crl()).filter(Objects::nonNull).forEach(paths::add);
        return new WatchedFiles(() -> paths, true);
    }

    /**
     * @param protocols offered by ALPN, the preferred one first
     * @throws TlsFileException if a file cannot be used
     */
    private static ContextSet load(ListenerTls settings, List<String> protocols) {
        List<CertificateExpiry> expiries = new ArrayList<>();
        TrustManagerFactory trust = trust(settings.clientCertificates(), expiries);
        Map<String, SslContext> byName = new HashMap<>();
        List<SslContext> contexts = new ArrayList<>();
        try {
            for (CertificateFiles files : settings.certificates()) {
                KeyedCertificate keyed = TlsFiles.keyed(files.certificate(), files.key());
                SslContext context = context(settings, protocols, files, keyed, trust);
                contexts.add(context);
                hosts(keyed.certificate()).forEach(name -> byName.putIfAbsent(name, context));
                expiries.add(CertificateExpiry.of(files.certificate(), keyed.certificate()));
            }
        } catch (TlsFileException e) {
            contexts.forEach(ReferenceCountUtil::release);
            throw e;
        }
        return new ContextSet(contexts, byName, expiries);
    }

    private static @Nullable TrustManagerFactory trust(ClientCertificates clients, List<CertificateExpiry> expiries) {
        Path ca = clients.ca();
        return clients.mode() == ClientCertificateMode.NONE || ca == null
                ? null
                : TrustedIssuers.of(ca, clients.crl(), expiries);
    }

    private static SslContext context(
            ListenerTls settings,
            List<String> protocols,
            CertificateFiles files,
            KeyedCertificate keyed,
            @Nullable TrustManagerFactory trust) {
        SslContextBuilder builder = SslContextBuilder.forServer(keyed.key(), keyed.chain())
                .sessionCacheSize(SESSIONS)
                .sessionTimeout(SESSION_SECONDS);
        if (trust != null) {
            builder.trustManager(TlsParameters.clientTrust(trust))
                    .clientAuth(
                            settings.clientCertificates().mode() == ClientCertificateMode.REQUIRED
                                    ? ClientAuth.REQUIRE
                                    : ClientAuth.OPTIONAL);
        }
        try {
            return TlsParameters.common(builder, settings.minimumVersion(), protocols)
                    .build();
        } catch (SSLException | IllegalArgumentException e) {
            throw new TlsFileException(files.certificate(), "cannot be used: " + e.getMessage(), e);
        }
    }

    public Duration handshakeTimeout() {
        return settings.handshakeTimeout();
    }

    /**
     * The handler of a new connection, which replaces itself by Netty's {@link SslHandler}. It has no timeout.
     */
    public ChannelHandler handler() {
        return new ClientHelloHandler(acquire(), protocols, 0);
    }

    /** As {@link #handler}, with the timeout of the handshake. */
    public ChannelHandler timedHandler() {
        return new ClientHelloHandler(acquire(), protocols, handshakeTimeout().toMillis());
    }

    public void ended(HandshakeResult result) {
        meters.ended(result);
    }

    public void ended(TlsSession session, long nanos) {
        meters.ended(session.protocol(), nanos);
    }

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
            client = client(certificate);
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

    /** The host names of a server's certificate, in lower case. */
    private static List<String> hosts(X509Certificate certificate) {
        return alternatives(certificate, DNS).stream()
                .map(name -> name.toLowerCase(Locale.ROOT))
                .toList();
    }

    private static ClientCertificate client(X509Certificate certificate) {
        return new ClientCertificate(
                certificate.getSubjectX500Principal().getName(),
                alternatives(certificate, DNS),
                alternatives(certificate, URI),
                alternatives(certificate, EMAIL));
    }

    private static List<String> alternatives(X509Certificate certificate, int type) {
        try {
            Collection<List<?>> all = certificate.getSubjectAlternativeNames();
            return Stream.ofNullable(all)
                    .flatMap(Collection::stream)
                    .filter(each -> Integer.valueOf(type).equals(each.get(0)))
                    .map(each -> each.get(1))
                    .filter(String.class::isInstance)
                    .map(String.class::cast)
                    .toList();
        } catch (CertificateParsingException e) {
            // A malformed extension names nobody.
            return List.of();
        }
    }
}
