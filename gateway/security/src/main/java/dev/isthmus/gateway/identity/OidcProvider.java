package dev.isthmus.gateway.identity;

import com.nimbusds.jose.util.JSONObjectUtils;
import dev.isthmus.gateway.call.Principal;
import dev.isthmus.gateway.identity.JwtVerifier.TokenIssuer;
import dev.isthmus.gateway.settings.AdminConfig.AdminRole;
import dev.isthmus.gateway.settings.AuthenticationConfig.JwtAlgorithm;
import dev.isthmus.gateway.settings.AuthenticationConfig.JwtConfig;
import dev.isthmus.gateway.settings.ConfigException;
import dev.isthmus.gateway.settings.OidcConfig;
import dev.isthmus.gateway.settings.WebUrl;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpRequest;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.text.ParseException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Base64;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A provider of OpenID Connect Core 1.0 with which operators log in: the authorization code flow (3.1) with PKCE (RFC
 * 7636). Methods block for at most some seconds. Thread-safe.
 */
public final class OidcProvider {
    private static final Duration SKEW = Duration.ofSeconds(30);
    private static final Duration METADATA_KEPT = Duration.ofMinutes(5);
    private static final Duration FAILURE_KEPT = Duration.ofSeconds(2);
    private static final String OPENID = "openid";

    private final OidcConfig config;
    private final InstantSource clock;
    private final LongSupplier nanoTime;
    private final IssuerHttp http;

    // Guarded by this.
    private @Nullable OidcMetadata metadata;
    private @Nullable OipException failure;
    private long fetched;

    /**
     * Somebody who has logged in.
     *
     * @param role the highest of the operator's groups
     */
    public record OidcOperator(String name, AdminRole role) {}

    /**
     * Fetches nothing yet.
     *
     * @param clock decides whether a token has expired
     * @param nanoTime on the scale of {@link System#nanoTime()}
     */
    public OidcProvider(OidcConfig config, InstantSource clock, LongSupplier nanoTime) {
        this.config = config;
        this.clock = clock;
        this.nanoTime = nanoTime;
        this.http = new IssuerHttp("the provider of OpenID Connect", config.ca(), "admin.oidc.ca");
    }

    /**
     * Where the browser is sent to log in.
     *
     * @param redirectUrl to which it is sent back
     * @throws OipException UNAVAILABLE if the provider does not respond, or not as one
     */
    public URI authorization(OidcLogin login, String redirectUrl) {
        Map<String, String> query = new LinkedHashMap<>();
        query.put("response_type", "code");
        query.put("client_id", config.clientId());
        query.put("redirect_uri", redirectUrl);
        query.put("scope", scope());
        query.put("state", login.state());
        query.put("nonce", login.nonce());
        query.put("code_challenge", login.challenge());
        query.put("code_challenge_method", "S256");
        String endpoint = metadata().authorization();
        return URI.create(endpoint + (endpoint.contains("?") ? "&" : "?") + form(query));
    }

    private String scope() {
        return config.scopes().contains(OPENID)
                ? String.join(" ", config.scopes())
                : (OPENID + " " + String.join(" ", config.scopes())).strip();
    }

    /**
     * Exchanges the code of a successful login for the operator.
     *
     * @param redirectUrl the same as before
     * @throws OipException UNAUTHENTICATED if the provider refuses the code or its token is not valid for this login;
     *     PERMISSION_DENIED if no group has a role; UNAVAILABLE if the provider does not respond
     */
    public OidcOperator operator(OidcLogin login, String redirectUrl, String code) {
        OidcMetadata provider = metadata();
        String token = token(provider, login, redirectUrl, code);
        SigningKeys keys;
        try {
            keys = SigningKeys.parse(provider.keys(), http.get(provider.keys()).requireOk());
        } catch (ConfigException e) {
            throw http.unavailable(String.join("; ", e.problems()));
        }
        Principal principal;
        try {
            principal = new JwtVerifier(List.of(new TokenIssuer(expected(provider), () -> keys)), clock, nanoTime)
                    .verify(token, null);
        } catch (CredentialException e) {
            throw invalid(e.failure().label());
        }
        if (!Set.of(login.nonce()).equals(principal.claims().get("nonce"))) {
            throw invalid("nonce");
        }
        Set<String> authorized = principal.claims().get("azp");
        boolean several = principal.claims().getOrDefault("aud", Set.of()).size() > 1;
        if (authorized == null ? several : !authorized.equals(Set.of(config.clientId()))) {
            throw invalid("azp");
        }
        return new OidcOperator(principal.name(), role(principal));
    }

    private JwtConfig expected(OidcMetadata provider) {
        return new JwtConfig(
                config.issuer(),
                List.of(config.clientId()),
                null,
                provider.keys(),
                config.ca(),
                METADATA_KEPT,
                Set.of(JwtAlgorithm.values()),
                SKEW,
                config.nameClaim(),
                config.groupsClaim());
    }

    private static OipException invalid(String why) {
        return new OipException(ErrorCode.UNAUTHENTICATED, "the provider's ID token is not valid: " + why);
    }

    private AdminRole role(Principal principal) {
        Optional<AdminRole> highest = config.roles().entrySet().stream()
                .filter(each -> each.getKey().equals(OidcConfig.EVERYBODY)
                        || principal.groups().contains(each.getKey()))
                .map(Map.Entry::getValue)
                .max(Comparator.naturalOrder());
        return highest.orElseThrow(() -> new OipException(
                ErrorCode.PERMISSION_DENIED,
                "'" + principal.name() + "' has no role here: one of the groups "
                        + config.roles().keySet().stream().sorted().toList()
                        + " of admin.oidc.roles is expected in the claim '"
                        + config.groupsClaim() + "'"));
    }

    private String token(OidcMetadata provider, OidcLogin login, String redirectUrl, String code) {
        Map<String, String> parameters = new LinkedHashMap<>();
        parameters.put("grant_type", "authorization_code");
        parameters.put("code", code);
        parameters.put("redirect_uri", redirectUrl);
        parameters.put("code_verifier", login.verifier());
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(provider.token()))
                .header("content-type", "application/x-www-form-urlencoded");
        String secret = secret();
        if (secret == null || !provider.basic()) {
            parameters.put("client_id", config.clientId());
        }
        if (secret != null && provider.basic()) {
            // RFC 6749, 2.3.1: both are form-encoded first.
            String pair = encoded(config.clientId()) + ":" + encoded(secret);
            request.header(
                    "authorization",
                    "Basic " + Base64.getEncoder().encodeToString(pair.getBytes(StandardCharsets.UTF_8)));
        } else if (secret != null) {
            parameters.put("client_secret", secret);
        }
        IssuerHttp.IssuerResponse response =
                http.send(request.POST(HttpRequest.BodyPublishers.ofString(form(parameters))));
        return idToken(response);
    }

    private @Nullable String secret() {
        try {
            return config.clientSecretFile() == null
                    ? null
                    : Files.readString(config.clientSecretFile()).strip();
        } catch (IOException e) {
            throw http.unavailable("admin.oidc.client_secret_file cannot be read");
        }
    }

    private String idToken(IssuerHttp.IssuerResponse response) {
        try {
            // Nimbus makes null of the text null.
            Map<String, Object> answer = Objects.requireNonNullElse(JSONObjectUtils.parse(response.body()), Map.of());
            if (answer.get("id_token") instanceof String token && response.isOk()) {
                return token;
            }
            Object error = Objects.requireNonNullElse(answer.get("error"), "no id_token");
            throw new OipException(
                    ErrorCode.UNAUTHENTICATED,
                    "the provider has refused the login: " + IssuerHttp.cut(error.toString()));
        } catch (ParseException e) {
            throw http.unavailable(response.url() + ": a JSON object is expected, status " + response.status());
        }
    }

    /** Kept for a while, and a failure for a moment: everybody may begin a login. */
    private synchronized OidcMetadata metadata() {
        long age = nanoTime.getAsLong() - fetched;
        if (failure != null && age < FAILURE_KEPT.toNanos()) {
            throw failure;
        }
        OidcMetadata known = metadata;
        if (known == null || age >= METADATA_KEPT.toNanos()) {
            String url = config.issuer().replaceFirst("/$", "") + "/.well-known/openid-configuration";
            try {
                known = OidcMetadata.parse(http, url, config.issuer());
                metadata = known;
                failure = null;
            } catch (OipException e) {
                failure = e;
                throw e;
            } finally {
                fetched = nanoTime.getAsLong();
            }
        }
        return known;
    }

    private static String form(Map<String, String> parameters) {
        return parameters.entrySet().stream()
                .map(each -> each.getKey() + "=" + encoded(each.getValue()))
                .collect(Collectors.joining("&"));
    }

    private static String encoded(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8);
    }

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
         * @param issuer the expected one
         * @throws dev.isthmus.oip.OipException UNAVAILABLE if they are not those of this issuer
         */
        static OidcMetadata parse(IssuerHttp http, String url, String issuer) {
            Map<String, Object> document;
            try {
                document = Objects.requireNonNullElse(
                        JSONObjectUtils.parse(http.get(url).requireOk()), Map.of());
            } catch (ParseException e) {
                throw http.unavailable(url + ": a JSON object is expected");
            }
            if (!issuer.equals(document.get("issuer"))) {
                throw http.unavailable(
                        url + ": the issuer '" + issuer + "' is expected, got '" + document.get("issuer") + "'");
            }
            return new OidcMetadata(
                    url(http, document, "authorization_endpoint", url),
                    url(http, document, "token_endpoint", url),
                    url(http, document, "jwks_uri", url),
                    !(document.get("token_endpoint_auth_methods_supported") instanceof List<?> methods)
                            || methods.contains(BASIC));
        }

        private static String url(IssuerHttp http, Map<String, Object> document, String member, String source) {
            if (document.get(member) instanceof String url && WebUrl.isSecure(url)) {
                return url;
            }
            throw http.unavailable(source + ": " + member + ": an https URL, or http on loopback, is expected, got '"
                    + document.get(member) + "'");
        }
    }
}
