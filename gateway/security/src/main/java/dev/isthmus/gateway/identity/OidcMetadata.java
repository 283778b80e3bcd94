package dev.isthmus.gateway.identity;

import com.nimbusds.jose.util.JSONObjectUtils;
import dev.isthmus.gateway.settings.WebUrl;
import java.text.ParseException;
import java.util.List;
import java.util.Map;

/**
 * What is used of a provider's metadata (OpenID Connect Discovery 1.0, 3).
 *
 * @param authorization URL to which browsers are sent
 * @param token URL at which codes are exchanged
 * @param keys URL of the JSON Web Key Set
 * @param basic whether clients authenticate with {@code client_secret_basic}, else with {@code client_secret_post}
 */
record OidcMetadata(String authorization, String token, String keys, boolean basic) {
    private static final String BASIC = "client_secret_basic";

    /**
     * Reads the metadata.
     *
     * @param url from which they come, for messages
     * @param issuer the expected one
     * @throws dev.isthmus.oip.OipException UNAVAILABLE if they are not those of this issuer
     */
    static OidcMetadata parse(String url, String issuer, String json) {
        Map<String, Object> document;
        try {
            document = JSONObjectUtils.parse(json);
        } catch (ParseException e) {
            throw OidcHttp.unavailable(url + ": a JSON object is expected");
        }
        if (!issuer.equals(document.get("issuer"))) {
            throw OidcHttp.unavailable(
                    url + ": the issuer '" + issuer + "' is expected, got '" + document.get("issuer") + "'");
        }
        return new OidcMetadata(
                url(document, "authorization_endpoint", url),
                url(document, "token_endpoint", url),
                url(document, "jwks_uri", url),
                !(document.get("token_endpoint_auth_methods_supported") instanceof List<?> methods)
                        || methods.contains(BASIC));
    }

    private static String url(Map<String, Object> document, String member, String source) {
        if (document.get(member) instanceof String url && WebUrl.isSecure(url)) {
            return url;
        }
        throw OidcHttp.unavailable(source + ": " + member + ": an https URL, or http on loopback, is expected, got '"
                + document.get(member) + "'");
    }
}
