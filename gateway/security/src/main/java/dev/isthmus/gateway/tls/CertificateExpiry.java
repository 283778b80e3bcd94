package dev.isthmus.gateway.tls;

import java.nio.file.Path;
import java.security.cert.X509CRL;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.util.Date;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * When something from a file expires.
 *
 * @param subject the name of the certificate's subject, or of the issuer of a revocation list
 */
public record CertificateExpiry(Path file, String subject, Instant from, Instant until) {
    private static final Logger LOG = LoggerFactory.getLogger(CertificateExpiry.class);

    public static CertificateExpiry of(Path file, X509Certificate certificate) {
        return new CertificateExpiry(
                file,
                certificate.getSubjectX500Principal().getName(),
                certificate.getNotBefore().toInstant(),
                certificate.getNotAfter().toInstant());
    }

    static CertificateExpiry of(Path file, X509CRL list) {
        Date next = list.getNextUpdate();
        return new CertificateExpiry(
                file,
                list.getIssuerX500Principal().getName(),
                list.getThisUpdate().toInstant(),
                next == null ? Instant.MAX : next.toInstant());
    }

    /** Logs that it is not valid now: peers refuse it, but that is for them to decide. */
    void warn(String owner) {
        String problem = problem(Instant.now());
        if (problem != null) {
            LOG.atWarn()
                    .addKeyValue("file", file)
                    .log("{}: {}: '{}' {}; replace the file", owner, file, subject, problem);
        }
    }

    /** Why it is not valid at this time; null if it is. */
    public @Nullable String problem(Instant now) {
        if (now.isAfter(until)) {
            return "has expired on " + until;
        }
        return now.isBefore(from) ? "is not valid before " + from : null;
    }
}
