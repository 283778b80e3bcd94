package dev.isthmus.gateway.tls;

import dev.isthmus.gateway.settings.ListenerTls.TlsVersion;
import dev.isthmus.gateway.settings.TlsFileException;
import dev.isthmus.gateway.settings.TlsFiles;
import dev.isthmus.gateway.settings.TlsFiles.KeyedCertificate;
import dev.isthmus.gateway.settings.UpstreamTls;
import dev.isthmus.gateway.settings.WatchedFiles;
import io.netty.handler.ssl.ApplicationProtocolNames;
import io.netty.handler.ssl.OpenSslSessionContext;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.util.ReferenceCountUtil;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/** The contexts of connections to the servers of an upstream. */
final class ClientContexts extends ContextSet {
    private final SslContext http2;
    private final SslContext http1;

    private ClientContexts(SslContext http2, SslContext http1, List<CertificateExpiry> expiries) {
        super(List.of(http2, http1), expiries);
        this.http2 = http2;
        this.http1 = http1;
    }

    /** The context of connections over HTTP/2, for gRPC. */
    SslContext http2() {
        return http2;
    }

    /** The context of connections over HTTP/1.1, for REST and metrics. */
    SslContext http1() {
        return http1;
    }

    /** The files that the settings name. */
    static WatchedFiles files(UpstreamTls settings) {
        return new WatchedFiles(
                Stream.of(settings.ca(), settings.certificate(), settings.key())
                        .filter(Objects::nonNull)
                        .toList(),
                true);
    }

    /** @throws TlsFileException if a file cannot be used */
    static ClientContexts load(UpstreamTls settings) {
        List<CertificateExpiry> expiries = new ArrayList<>();
        SslContext http2 = context(settings, ApplicationProtocolNames.HTTP_2, expiries);
        try {
            SslContext http1 = context(settings, ApplicationProtocolNames.HTTP_1_1, new ArrayList<>());
            return new ClientContexts(http2, http1, expiries);
        } catch (TlsFileException e) {
            ReferenceCountUtil.release(http2);
            throw e;
        }
    }

    private static SslContext context(UpstreamTls settings, String alpn, List<CertificateExpiry> expiries) {
        SslContextBuilder builder = SslContextBuilder.forClient().endpointIdentificationAlgorithm("HTTPS");
        Path ca = settings.ca();
        if (ca != null) {
            builder.trustManager(TrustedIssuers.of(ca, null, expiries));
        }
        Path certificate = settings.certificate();
        Path key = settings.key();
        if (certificate != null && key != null) {
            KeyedCertificate keyed = TlsFiles.keyed(certificate, key);
            builder.keyManager(keyed.key(), keyed.chain());
            expiries.add(CertificateExpiry.of(certificate, keyed.certificate()));
        }
        try {
            SslContext context = TlsParameters.common(builder, TlsVersion.TLS_1_2, List.of(alpn))
                    .build();
            if (context.sessionContext() instanceof OpenSslSessionContext sessions) {
                // Connections to servers live long. A session that arrives while its context is released would leak.
                sessions.setSessionCacheEnabled(false);
            }
            return context;
        } catch (SSLException | IllegalArgumentException e) {
            throw new TlsFileException(file(certificate, ca), "cannot be used: " + e.getMessage(), e);
        }
    }

    private static Path file(@Nullable Path certificate, @Nullable Path ca) {
        Path given = certificate == null ? ca : certificate;
        return given == null ? Path.of("the trust store of the Java runtime") : given;
    }
}
