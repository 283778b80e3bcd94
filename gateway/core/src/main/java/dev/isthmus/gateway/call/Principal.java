package dev.isthmus.gateway.call;

import dev.isthmus.gateway.settings.AccessConfig.IdentifiedBy;
import java.util.Map;
import java.util.Set;

/**
 * Who sends a request. Credentials are not part of it. One object stands for all requests with the same credential, so
 * that decisions about it can be kept.
 *
 * @param name empty if the caller is not identified
 * @param claims texts of the claims of its token, by name; of a certificate, its subject alternative names as {@link
 *     #SANS}
 * @param identifiedBy how it was identified
 */
public record Principal(String name, Set<String> groups, Map<String, Set<String>> claims, IdentifiedBy identifiedBy) {
    /** Somebody. */
    public static final Principal ANONYMOUS = new Principal("", Set.of(), Map.of(), IdentifiedBy.NONE);
    /** The claim with a certificate's subject alternative names. */
    public static final String SANS = "san";

    public Principal {
        groups = Set.copyOf(groups);
        claims = Map.copyOf(claims);
    }
}
