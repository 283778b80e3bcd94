package dev.isthmus.gateway.call;

import java.util.List;

/**
 * The names in a client's verified certificate.
 *
 * @param subject the distinguished name of the subject (RFC 2253), as {@code CN=client,O=Example}; may be empty
 * @param dnsNames the subject alternative names of type dNSName
 * @param uris the subject alternative names of type uniformResourceIdentifier, as {@code spiffe://example/client}
 * @param emails the subject alternative names of type rfc822Name
 */
public record ClientCertificate(String subject, List<String> dnsNames, List<String> uris, List<String> emails) {
    public ClientCertificate {
        dnsNames = List.copyOf(dnsNames);
        uris = List.copyOf(uris);
        emails = List.copyOf(emails);
    }
}
