package dev.isthmus.gateway.identity;

import dev.isthmus.gateway.settings.Digests;
import java.security.SecureRandom;
import java.util.Base64;

/**
 * A login with OpenID Connect while its browser is at the provider.
 *
 * @param state comes back with the browser
 * @param nonce comes back in the ID token
 * @param verifier proves that the code is exchanged by who has asked for it (RFC 7636)
 */
public record OidcLogin(String state, String nonce, String verifier) {
    private static final int BYTES = 32;

    /** A login that nobody can guess. */
    public static OidcLogin random(SecureRandom random) {
        return new OidcLogin(text(random), text(random), text(random));
    }

    private static String text(SecureRandom random) {
        byte[] bytes = new byte[BYTES];
        random.nextBytes(bytes);
        return encoded(bytes);
    }

    private static String encoded(byte[] bytes) {
        return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
    }

    /** The code challenge of the method S256. */
    String challenge() {
        return encoded(Digests.of(Digests.SHA_256, verifier));
    }
}
