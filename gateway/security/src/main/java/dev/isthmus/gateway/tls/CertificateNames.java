package dev.isthmus.gateway.tls;

import dev.isthmus.gateway.call.ClientCertificate;
import java.security.cert.CertificateParsingException;
import java.security.cert.X509Certificate;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

final class CertificateNames {
    // Types of GeneralName (RFC 5280, 4.2.1.6).
    private static final int EMAIL = 1;
    private static final int DNS = 2;
    private static final int URI = 6;

    private CertificateNames() {}

    /** The host names of a server's certificate, in lower case. */
    static List<String> hosts(X509Certificate certificate) {
        return alternatives(certificate, DNS).stream()
                .map(name -> name.toLowerCase(Locale.ROOT))
                .toList();
    }

    static ClientCertificate ofClient(X509Certificate certificate) {
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
