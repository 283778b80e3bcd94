package dev.isthmus.gateway.tls;

import dev.isthmus.gateway.settings.ListenerTls.TlsVersion;
import io.netty.handler.ssl.ApplicationProtocolConfig;
import io.netty.handler.ssl.ApplicationProtocolConfig.Protocol;
import io.netty.handler.ssl.ApplicationProtocolConfig.SelectedListenerFailureBehavior;
import io.netty.handler.ssl.ApplicationProtocolConfig.SelectorFailureBehavior;
import io.netty.handler.ssl.OpenSsl;
import io.netty.handler.ssl.OpenSslCertificateException;
import io.netty.handler.ssl.OpenSslContextOption;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import io.netty.handler.ssl.SupportedCipherSuiteFilter;
import java.net.Socket;
import java.security.cert.CertPathBuilderException;
import java.security.cert.CertPathValidatorException;
import java.security.cert.CertificateException;
import java.security.cert.PKIXReason;
import java.security.cert.X509Certificate;
import java.util.List;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedTrustManager;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What all contexts have in common: the implementation of TLS, its versions and ciphers. */
final class TlsParameters {
    private static final Logger LOG = LoggerFactory.getLogger(TlsParameters.class);
    private static final String TLS_1_3 = "TLSv1.3";
    private static final String TLS_1_2 = "TLSv1.2";

    /** With forward secrecy and authenticated encryption only. */
    private static final List<String> CIPHERS = List.of(
            "TLS_AES_128_GCM_SHA256",
            "TLS_AES_256_GCM_SHA384",
            "TLS_CHACHA20_POLY1305_SHA256",
            "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
            "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
            "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
            "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
            "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
            "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256");

    /** Groups of the key exchange. */
    private static final String[] GROUPS = {"x25519", "secp256r1", "secp384r1"};

    private static final SslProvider PROVIDER = provider();

    private TlsParameters() {}

    private static SslProvider provider() {
        if (OpenSsl.isAvailable()) {
            // Contexts are released when they are replaced, not when they are collected.
            return SslProvider.OPENSSL_REFCNT;
        }
        // Read by the JDK once, when its implementation is first used.
        System.setProperty("jdk.tls.rejectClientInitiatedRenegotiation", "true");
        LOG.warn(
                "TLS: BoringSSL is not available, Java's implementation is used, which needs more CPU: {}",
                String.valueOf(OpenSsl.unavailabilityCause()));
        return SslProvider.JDK;
    }

    /** The trust in client certificates, with failures that the implementation of TLS can tell the client. */
    static TrustManager clientTrust(TrustManagerFactory factory) {
        TrustManager manager = factory.getTrustManagers()[0];
        return PROVIDER != SslProvider.JDK && manager instanceof X509ExtendedTrustManager extended
                ? new ClientCertificateTrust(extended)
                : manager;
    }

    static SslContextBuilder common(SslContextBuilder builder, TlsVersion minimum, List<String> alpn) {
        if (PROVIDER != SslProvider.JDK) {
            builder.option(OpenSslContextOption.GROUPS, GROUPS.clone());
        }
        return builder.sslProvider(PROVIDER)
                .protocols(minimum == TlsVersion.TLS_1_3 ? List.of(TLS_1_3) : List.of(TLS_1_3, TLS_1_2))
                .ciphers(CIPHERS, SupportedCipherSuiteFilter.INSTANCE)
                .applicationProtocolConfig(new ApplicationProtocolConfig(
                        Protocol.ALPN,
                        SelectorFailureBehavior.NO_ADVERTISE,
                        SelectedListenerFailureBehavior.ACCEPT,
                        alpn));
    }

    /**
     * Checks the certificates of clients as another manager does, and says to BoringSSL that the issuer is unknown if it is:
     * Netty tells it only about some failures, and the client gets internal_error for all others.
     */
    static final class ClientCertificateTrust extends X509ExtendedTrustManager {
        /** An error of X.509 as OpenSSL and BoringSSL number them; the alert for it is unknown_ca. */
        private static final int UNABLE_TO_GET_ISSUER_CERT_LOCALLY = 20;

        private final X509ExtendedTrustManager trusted;

        ClientCertificateTrust(X509ExtendedTrustManager trusted) {
            this.trusted = trusted;
        }

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String method, SSLEngine engine)
                throws CertificateException {
            try {
                trusted.checkClientTrusted(chain, method, engine);
            } catch (CertificateException refused) {
                throw explained(refused);
            }
        }

        private static CertificateException explained(CertificateException refused) {
            boolean noPath = false;
            for (Throwable each = refused; each != null; each = each.getCause()) {
                noPath |= each instanceof CertPathBuilderException;
                if (each instanceof CertPathValidatorException invalid) {
                    CertPathValidatorException.Reason reason = invalid.getReason();
                    noPath = reason == PKIXReason.NO_TRUST_ANCHOR
                            || (noPath && reason == CertPathValidatorException.BasicReason.UNSPECIFIED);
                }
            }
            return noPath
                    ? new OpenSslCertificateException(refused.getMessage(), refused, UNABLE_TO_GET_ISSUER_CERT_LOCALLY)
                    : refused;
        }

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String method, Socket socket)
                throws CertificateException {
            trusted.checkClientTrusted(chain, method, socket);
        }

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String method) throws CertificateException {
            trusted.checkClientTrusted(chain, method);
        }

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String method, SSLEngine engine)
                throws CertificateException {
            trusted.checkServerTrusted(chain, method, engine);
        }

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String method, Socket socket)
                throws CertificateException {
            trusted.checkServerTrusted(chain, method, socket);
        }

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String method) throws CertificateException {
            trusted.checkServerTrusted(chain, method);
        }

        @Override
        public X509Certificate[] getAcceptedIssuers() {
            return trusted.getAcceptedIssuers();
        }
    }
}
