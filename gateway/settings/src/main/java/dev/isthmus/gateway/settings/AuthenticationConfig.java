package dev.isthmus.gateway.settings;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** How callers are identified. Tried in this order: API key, token, client certificate. */
@Doc("How callers are identified. Without a valid credential a request is refused with 401. Tried in this order: API "
        + "key, token, client certificate; a credential that is sent but not valid is always refused.")
public record AuthenticationConfig(
        @Nullable ApiKeyConfig apiKeys,
        @Nullable JwtConfig jwt,
        @Nullable CertificateConfig clientCertificates,

        @Doc("Whether liveness and readiness of the server need a credential: open or authenticated.")
        HealthProbes health,

        @Doc(
                "Maximum concurrent calls of one caller, whatever its credentials; more are refused with 429. 0: no limit.")
        @Range(max = 1_000_000)
        int maxRequests,

        Forward forward) {
    public static final AuthenticationConfig DEFAULT =
            new AuthenticationConfig(null, null, null, HealthProbes.OPEN, 0, Forward.DEFAULT);

    /** API keys. */
    @Doc("API keys, in a header of their own or as 'Authorization: Bearer'.")
    public record ApiKeyConfig(
            @Doc("File with a line for each key: NAME SHA256 [GROUP...]; '#' begins a comment. Several lines of one "
                    + "name are valid keys of one caller. 'isthmus key NAME' makes a key and its line. Read "
                    + "again when it changes. The file must not be readable or writable by others, nor writable "
                    + "by its group.")
            @Required
            Path file,

            @Doc("The header.") @HeaderName String header) {
        public static final ApiKeyConfig DEFAULT = new ApiKeyConfig(Path.of(""), "x-api-key");
    }

    /** JSON Web Tokens. */
    @Doc("JSON Web Tokens (RFC 7519), as 'Authorization: Bearer'.")
    public record JwtConfig(
            @Doc("The expected issuer ('iss').") @Required String issuer,

            @Doc("Accepted audiences; the token's 'aud' has one of them.") @Required @NotEmpty
            List<String> audiences,

            @Doc("File with the issuer's public keys, a JSON Web Key Set (RFC 7517). Read again when it changes. Must "
                    + "not be writable by others.")
            @Nullable
            Path jwksFile,

            @Doc("URL of the issuer's public keys; https, or http on loopback.") @Nullable
            String jwksUrl,

            @Doc("Certificates of the authorities that the URL's server is verified against, PEM, instead of those of "
                    + "the Java runtime. Read for each fetch.")
            @Nullable
            Path jwksCa,

            @Doc("Time after which the keys are fetched again.")
            Duration refresh,

            @Doc("Accepted signature algorithms.") @NotEmpty Set<JwtAlgorithm> algorithms,

            @Doc("Tolerated difference between the clocks of issuer and gateway.") @OrZero
            Duration skew,

            @Doc("Claim with the name of the caller.") String nameClaim,

            @Doc("Claim with the groups of the caller: a list, or text separated by spaces.")
            String groupsClaim) {
        public static final JwtConfig DEFAULT = new JwtConfig(
                "",
                List.of(),
                null,
                null,
                null,
                Duration.ofMinutes(5),
                Set.of(JwtAlgorithm.RS256, JwtAlgorithm.ES256, JwtAlgorithm.EDDSA),
                Duration.ofSeconds(30),
                "sub",
                "groups");

        public JwtConfig {
            audiences = List.copyOf(audiences);
            algorithms = Set.copyOf(algorithms);
        }
    }

    /** Client certificates. */
    @Doc("Client certificates that a listener has verified.")
    public record CertificateConfig(
            @Doc("What names the caller: cn (of the subject), or the first subject alternative name of the type dns, "
                    + "uri or email.")
            CertificateName name) {
        public static final CertificateConfig DEFAULT = new CertificateConfig(CertificateName.CN);
    }

    /** What servers learn of the caller. */
    @Doc("What upstream servers learn of the caller.")
    public record Forward(
            @Doc("The caller's credential: removed, or passed if 'headers: forward' names its header.")
            ForwardedCredential credential,

            @Doc("Header with the caller's name, percent-encoded where it is not printable ASCII. Values that clients "
                    + "send are removed.")
            @HeaderName
            String principalHeader) {
        public static final Forward DEFAULT = new Forward(ForwardedCredential.REMOVED, HeaderAllowList.PRINCIPAL);
    }

    /** Whether a credential reaches upstream servers. */
    public enum ForwardedCredential {
        REMOVED,
        PASSED
    }

    /** Whether probes of the server need a credential. */
    public enum HealthProbes {
        OPEN,
        AUTHENTICATED
    }

    /** The signature algorithms of tokens (RFC 7518, 3.1; RFC 8037). */
    public enum JwtAlgorithm {
        RS256,
        ES256,
        EDDSA
    }

    /** The part of a certificate that names the caller. */
    public enum CertificateName {
        CN,
        DNS,
        URI,
        EMAIL
    }
}
