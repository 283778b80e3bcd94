package dev.isthmus.gateway.tls;

import io.netty.handler.ssl.OpenSslCertificateException;
import java.net.Socket;
import java.security.cert.CertPathBuilderException;
import java.security.cert.CertPathValidatorException;
import java.security.cert.CertificateException;
import java.security.cert.PKIXReason;
import java.security.cert.X509Certificate;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.X509ExtendedTrustManager;

/**
 * Checks the certificates of clients as another manager does, and says to BoringSSL that the issuer is unknown if it is:
 * Netty tells it only about some failures, and the client gets internal_error for all others.
 */
final class ClientCertificateTrust extends X509ExtendedTrustManager {
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
    public void checkClientTrusted(X509Certificate[] chain, String method, Socket socket) throws CertificateException {
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
    public void checkServerTrusted(X509Certificate[] chain, String method, Socket socket) throws CertificateException {
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
