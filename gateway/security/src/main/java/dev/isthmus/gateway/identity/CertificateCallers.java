package dev.isthmus.gateway.identity;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.isthmus.gateway.call.ClientCertificate;
import dev.isthmus.gateway.call.Principal;
import dev.isthmus.gateway.settings.AccessConfig.IdentifiedBy;
import dev.isthmus.gateway.settings.AuthenticationConfig.CertificateName;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import javax.naming.InvalidNameException;
import javax.naming.ldap.LdapName;
import javax.naming.ldap.Rdn;
import org.jspecify.annotations.Nullable;

/** The callers that client certificates name. Thread-safe. */
final class CertificateCallers {
    private final CertificateName part;
    /** By the certificate of a connection, by identity. */
    private final Cache<ClientCertificate, Principal> callers =
            Caffeine.newBuilder().weakKeys().executor(Runnable::run).build();

    CertificateCallers(CertificateName part) {
        this.part = part;
    }

    /** The caller with this certificate, which its listener has verified. */
    Principal caller(ClientCertificate certificate) throws CredentialException {
        Principal known = callers.getIfPresent(certificate);
        if (known != null) {
            return known;
        }
        String name = name(certificate);
        if (name == null || name.isBlank()) {
            throw new CredentialException(CredentialFailure.NO_NAME);
        }
        Set<String> sans = new HashSet<>(certificate.dnsNames());
        sans.addAll(certificate.uris());
        sans.addAll(certificate.emails());
        Principal caller =
                new Principal(name, Set.of(), Map.of(Principal.SANS, Set.copyOf(sans)), IdentifiedBy.CERTIFICATE);
        callers.put(certificate, caller);
        return caller;
    }

    private @Nullable String name(ClientCertificate certificate) {
        return switch (part) {
            case CN -> commonName(certificate.subject());
            case DNS -> first(certificate.dnsNames());
            case URI -> first(certificate.uris());
            case EMAIL -> first(certificate.emails());
        };
    }

    private static @Nullable String first(List<String> names) {
        return names.isEmpty() ? null : names.getFirst();
    }

    /** The most specific common name. */
    private static @Nullable String commonName(String subject) {
        try {
            for (Rdn each : new LdapName(subject).getRdns().reversed()) {
                if (each.getType().equalsIgnoreCase("CN") && each.getValue() instanceof String name) {
                    return name;
                }
            }
            return null;
        } catch (InvalidNameException e) {
            return null;
        }
    }
}
