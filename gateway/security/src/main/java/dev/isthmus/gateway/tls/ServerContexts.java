package dev.isthmus.gateway.tls;

import dev.isthmus.gateway.settings.ListenerTls;
import dev.isthmus.gateway.settings.ListenerTls.CertificateFiles;
import dev.isthmus.gateway.settings.ListenerTls.ClientCertificateMode;
import dev.isthmus.gateway.settings.ListenerTls.ClientCertificates;
import dev.isthmus.gateway.settings.TlsFileException;
import dev.isthmus.gateway.settings.TlsFiles;
import dev.isthmus.gateway.settings.TlsFiles.KeyedCertificate;
import dev.isthmus.gateway.settings.WatchedFiles;
import io.netty.handler.ssl.ClientAuth;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.util.ReferenceCountUtil;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.net.ssl.SSLException;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;

/** The contexts of a listener. */
final class ServerContexts extends ContextSet {
    /** Sessions that clients may resume by id, which only TLS 1.2 without tickets needs. */
    private static final int SESSIONS = 4096;

    private static final int SESSION_SECONDS = 3600;

    /** For clients that ask for no host name, or for one that no certificate has. */
    private final SslContext byDefault;
    /** By host name in lower case; {@code *.example.org} stands for any name with one label more. */
    private final Map<String, SslContext> byName;

    private ServerContexts(
            List<SslContext> contexts, Map<String, SslContext> byName, List<CertificateExpiry> expiries) {
        super(contexts, expiries);
        this.byDefault = contexts.getFirst();
        this.byName = Map.copyOf(byName);
    }

    /** The files that the settings name. */
    static WatchedFiles files(ListenerTls settings) {
        List<Path> paths = new ArrayList<>();
        settings.certificates().forEach(each -> paths.addAll(List.of(each.certificate(), each.key())));
        Path ca = settings.clientCertificates().ca();
        Path crl = settings.clientCertificates().crl();
        if (ca != null) {
            paths.add(ca);
        }
        if (crl != null) {
            paths.add(crl);
        }
        return new WatchedFiles(paths, true);
    }

    /**
     * Reads the files.
     *
     * @param protocols offered by ALPN, the preferred one first
     * @throws TlsFileException if a file cannot be used
     */
    static ServerContexts load(ListenerTls settings, List<String> protocols) {
        List<CertificateExpiry> expiries = new ArrayList<>();
        TrustManagerFactory trust = trust(settings.clientCertificates(), expiries);
        Map<String, SslContext> byName = new HashMap<>();
        List<SslContext> contexts = new ArrayList<>();
        try {
            for (CertificateFiles files : settings.certificates()) {
                KeyedCertificate keyed = TlsFiles.keyed(files.certificate(), files.key());
                SslContext context = context(settings, protocols, files, keyed, trust);
                contexts.add(context);
                CertificateNames.hosts(keyed.certificate()).forEach(name -> byName.putIfAbsent(name, context));
                expiries.add(CertificateExpiry.of(files.certificate(), keyed.certificate()));
            }
        } catch (TlsFileException e) {
            contexts.forEach(ReferenceCountUtil::release);
            throw e;
        }
        return new ServerContexts(contexts, byName, expiries);
    }

    private static @Nullable TrustManagerFactory trust(ClientCertificates clients, List<CertificateExpiry> expiries) {
        Path ca = clients.ca();
        if (clients.mode() == ClientCertificateMode.NONE || ca == null) {
            return null;
        }
        return TrustedIssuers.of(ca, clients.crl(), expiries);
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

    /** The context for the host name that a client asks for. */
    SslContext of(@Nullable String host) {
        if (host == null) {
            return byDefault;
        }
        SslContext exact = byName.get(host);
        if (exact != null) {
            return exact;
        }
        int dot = host.indexOf('.');
        return dot < 0 ? byDefault : byName.getOrDefault("*" + host.substring(dot), byDefault);
    }
}
