package dev.isthmus.gateway.tls;

import dev.isthmus.gateway.settings.TlsFileException;
import dev.isthmus.gateway.settings.TlsFiles;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.cert.CertPathBuilder;
import java.security.cert.CertStore;
import java.security.cert.CollectionCertStoreParameters;
import java.security.cert.PKIXBuilderParameters;
import java.security.cert.PKIXRevocationChecker;
import java.security.cert.TrustAnchor;
import java.security.cert.X509CRL;
import java.security.cert.X509CertSelector;
import java.security.cert.X509Certificate;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import javax.net.ssl.CertPathTrustManagerParameters;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;

/** Verifies the certificates of peers against those of trusted issuers, and against revocation lists. */
final class TrustedIssuers {
    private TrustedIssuers() {}

    /**
     * @param crl if given, the list of each issuer in the chain is required, and must not have expired
     * @param expiries to add to
     * @throws TlsFileException if one of them cannot be used
     */
    static TrustManagerFactory of(Path ca, @Nullable Path crl, List<CertificateExpiry> expiries) {
        Set<TrustAnchor> anchors = new HashSet<>();
        for (X509Certificate issuer : TlsFiles.certificates(ca)) {
            anchors.add(new TrustAnchor(issuer, null));
            expiries.add(CertificateExpiry.of(ca, issuer));
        }
        try {
            PKIXBuilderParameters parameters = new PKIXBuilderParameters(anchors, new X509CertSelector());
            parameters.setRevocationEnabled(crl != null);
            if (crl != null) {
                List<X509CRL> lists = TlsFiles.revocations(crl);
                lists.forEach(list -> expiries.add(CertificateExpiry.of(crl, list)));
                check(parameters, lists);
            }
            TrustManagerFactory factory = TrustManagerFactory.getInstance("PKIX");
            factory.init(new CertPathTrustManagerParameters(parameters));
            return factory;
        } catch (GeneralSecurityException e) {
            throw new TlsFileException(ca, "cannot be used: " + e.getMessage(), e);
        }
    }

    private static void check(PKIXBuilderParameters parameters, List<X509CRL> lists) throws GeneralSecurityException {
        parameters.addCertStore(CertStore.getInstance("Collection", new CollectionCertStoreParameters(lists)));
        PKIXRevocationChecker checker =
                (PKIXRevocationChecker) CertPathBuilder.getInstance("PKIX").getRevocationChecker();
        // Only the lists in the file: nothing is fetched.
        checker.setOptions(
                EnumSet.of(PKIXRevocationChecker.Option.PREFER_CRLS, PKIXRevocationChecker.Option.NO_FALLBACK));
        parameters.addCertPathChecker(checker);
    }
}
