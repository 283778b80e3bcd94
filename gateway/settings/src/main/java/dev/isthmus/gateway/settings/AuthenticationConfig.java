package dev.isthmus.gateway.settings;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

@Doc("How callers are identified. Without a valid credential a request is refused with 401. Tried in this order: API "
        + "key, token, client certificate; a credential that is sent but not valid is always refused.")
public record AuthenticationConfig(
        @Nullable ApiKeyConfig apiKeys,

        @Doc("JSON Web Tokens (RFC 7519), as 'Authorization: Bearer', of one issuer or a list of them: a token's 'iss' "
                + "says which one it is verified by.")
        @OrSingle
        @NotEmpty
        List<JwtConfig> jwt,

        @Nullable CertificateConfig clientCertificates,

        @Doc("Whether liveness and readiness of the server need a credential: open or authenticated.") @Default("open")
        HealthProbes health,

        @Doc(
                "Maximum concurrent calls of one caller, whatever its credentials; more are refused with 429. 0: no limit.")
        @Range(max = 1_000_000)
        @Default("0")
        int maxRequests,

        Forward forward)
        implements CheckedSection {
    @Override
    public void check(SectionCheck check) {
        if (check.valid() && apiKeys == null && jwt.isEmpty() && clientCertificates == null) {
            check.problem("'api_keys', 'jwt' or 'client_certificates' is expected");
        }
        check.unique("jwt", jwt.stream().map(JwtConfig::issuer).toList(), "jwt: issuer");
    }

    @Doc("API keys, in a header of their own or as 'Authorization: Bearer'.")
    public record ApiKeyConfig(
            @Doc("File with a line for each key: NAME SHA256 [GROUP...]; '#' begins a comment. Several lines of one "
                    + "name are valid keys of one caller. 'isthmus key NAME' makes a key and its line. Read "
                    + "again when it changes. The file must not be readable or writable by others, nor writable "
                    + "by its group.")
            @Required
            Path file,

            @Doc("The header.") @HeaderName @Default("x-api-key")
            String header)
            implements CheckedSection {
        @Override
        public void check(SectionCheck check) {
            try {
                if (check.valid()) {
                    ApiKeyFile.read(file);
                }
            } catch (ConfigException e) {
                e.problems().forEach(problem -> check.problem("file", problem));
            }
        }
    }

    @Doc("An issuer of tokens.")
    public record JwtConfig(
            @Doc("The issuer, as the tokens name it ('iss').") @Required
            String issuer,

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

            @Doc("Time after which the keys are fetched again.") @Default("5m")
            Duration refresh,

            @Doc("Accepted signature algorithms.") @NotEmpty @Default({"rs256", "es256", "eddsa"})
            Set<JwtAlgorithm> algorithms,

            @Doc("Tolerated difference between the clocks of issuer and gateway.") @OrZero @Default("30s")
            Duration skew,

            @Doc("Claim with the name of the caller.") @Default("sub")
            String nameClaim,

            @Doc("Claim with the groups of the caller: a list, or text separated by spaces.") @Default("groups")
            String groupsClaim)
            implements CheckedSection {
        @Override
        public void check(SectionCheck check) {
            if (!check.valid()) {
                return;
            }
            String keys = jwksFile == null ? null : SecretFile.problem(jwksFile, SecretFile::forgeable);
            if ((jwksFile == null) == (jwksUrl == null)) {
                check.problem("one of 'jwks_file' and 'jwks_url' is expected");
            } else if (keys != null) {
                check.problem("jwks_file", jwksFile + " " + keys);
            } else {
                check.expect(WebUrl::isSecure, "jwks_url", "an https URL, or http on loopback, is expected", jwksUrl);
            }
            if (jwksCa != null && (jwksUrl == null || !jwksUrl.startsWith("https:"))) {
                check.problem("jwks_ca", "an https URL in 'jwks_url' is expected with it");
            } else {
                check.authorities("jwks_ca", jwksCa);
            }
        }
    }

    @Doc("Client certificates that a listener has verified.")
    public record CertificateConfig(
            @Doc("What names the caller: cn (of the subject), or the first subject alternative name of the type dns, "
                    + "uri or email.")
            @Default("cn")
            CertificateName name) {}

    @Doc("What upstream servers learn of the caller.")
    public record Forward(
            @Doc("The caller's credential: removed, or passed if 'headers: forward' names its header.")
            @Default("removed")
            ForwardedCredential credential,

            @Doc("Header with the caller's name, percent-encoded where it is not printable ASCII. Values that clients "
                    + "send are removed.")
            @HeaderName
            @Default(HeaderAllowList.PRINCIPAL)
            String principalHeader) {}

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
        RS384,
        RS512,
        PS256,
        PS384,
        PS512,
        ES256,
        ES384,
        ES512,
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
