package dev.isthmus.gateway.identity;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.SignedJWT;
import dev.isthmus.gateway.call.Principal;
import dev.isthmus.gateway.settings.AuthenticationConfig.JwtAlgorithm;
import dev.isthmus.gateway.settings.AuthenticationConfig.JwtConfig;
import java.text.ParseException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Collections;
import java.util.Date;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Verifies JSON Web Tokens (RFC 7519, 7.2). Verified tokens are kept until they expire or the issuer's keys change. A
 * token that is not kept costs one check of a signature, on the calling thread. Thread-safe.
 */
final class JwtVerifier {
    private static final int MAX_KEPT = 10_000;
    private static final Duration IDLE = Duration.ofHours(1);

    private final JwtConfig config;
    private final SigningKeySource source;
    private final InstantSource clock;
    private final JwtClaims claims;
    private final Cache<Sha256Digest, VerifiedToken> verified = Caffeine.newBuilder()
            .maximumSize(MAX_KEPT)
            .expireAfterAccess(IDLE)
            .executor(Runnable::run)
            .build();

    /**
     * A token that was valid.
     *
     * @param expiresMillis when it ceases to be, with the skew, since the epoch
     * @param keys by which it was verified
     */
    private record VerifiedToken(Principal principal, long expiresMillis, SigningKeys keys) {}

    JwtVerifier(JwtConfig config, SigningKeySource source, InstantSource clock) {
        this.config = config;
        this.source = source;
        this.clock = clock;
        this.claims = new JwtClaims(config);
    }

    /** The caller with this token. */
    Principal verify(String token) throws CredentialException {
        SigningKeys keys = source.current();
        if (keys == null) {
            throw new CredentialException(CredentialFailure.KEYS_UNAVAILABLE);
        }
        long now = clock.millis();
        Sha256Digest digest = Sha256Digest.of(token);
        VerifiedToken known = verified.getIfPresent(digest);
        if (known != null && known.keys() == keys) {
            if (now < known.expiresMillis()) {
                return known.principal();
            }
            throw new CredentialException(CredentialFailure.EXPIRED);
        }
        VerifiedToken fresh = check(token, keys, now);
        verified.put(digest, fresh);
        return fresh.principal();
    }

    private VerifiedToken check(String token, SigningKeys keys, long now) throws CredentialException {
        JWTClaimsSet set;
        try {
            SignedJWT jwt = SignedJWT.parse(token);
            checkSignature(jwt, keys);
            set = jwt.getJWTClaimsSet();
        } catch (ParseException | RuntimeException malformed) {
            throw new CredentialException(CredentialFailure.MALFORMED);
        }
        long expires = checkTimes(set, now);
        if (!config.issuer().equals(set.getIssuer())) {
            throw new CredentialException(CredentialFailure.ISSUER);
        }
        if (Collections.disjoint(set.getAudience(), config.audiences())) {
            throw new CredentialException(CredentialFailure.AUDIENCE);
        }
        return new VerifiedToken(claims.principal(set), expires, keys);
    }

    private void checkSignature(SignedJWT jwt, SigningKeys keys) throws CredentialException {
        JWSHeader header = jwt.getHeader();
        JwtAlgorithm algorithm = algorithm(header.getAlgorithm());
        if (algorithm == null || !config.algorithms().contains(algorithm)) {
            throw new CredentialException(CredentialFailure.ALGORITHM);
        }
        // No extension that must be understood (RFC 7515, 4.1.11) is.
        if (header.getCriticalParams() != null || !header.isBase64URLEncodePayload()) {
            throw new CredentialException(CredentialFailure.MALFORMED);
        }
        List<SigningKeys.SigningKey> candidates = keys.candidates(header.getKeyID(), algorithm);
        if (candidates.isEmpty()) {
            throw new CredentialException(
                    source.refreshes() ? CredentialFailure.KEYS_UNAVAILABLE : CredentialFailure.UNKNOWN_SIGNING_KEY);
        }
        try {
            for (SigningKeys.SigningKey key : candidates) {
                if (key.verifier().verify(header, jwt.getSigningInput(), jwt.getSignature())) {
                    return;
                }
            }
        } catch (JOSEException malformed) {
            throw new CredentialException(CredentialFailure.SIGNATURE);
        }
        throw new CredentialException(CredentialFailure.SIGNATURE);
    }

    private static @Nullable JwtAlgorithm algorithm(JWSAlgorithm algorithm) {
        return switch (algorithm.getName()) {
            case "RS256" -> JwtAlgorithm.RS256;
            case "ES256" -> JwtAlgorithm.ES256;
            case "EdDSA" -> JwtAlgorithm.EDDSA;
            default -> null;
        };
    }

    /** Returns when the token expires, with the skew, in milliseconds since the epoch. */
    private long checkTimes(JWTClaimsSet set, long now) throws CredentialException {
        long skew = config.skew().toMillis();
        Date expiration = set.getExpirationTime();
        if (expiration == null) {
            throw new CredentialException(CredentialFailure.MALFORMED);
        }
        long expires = expiration.toInstant().toEpochMilli() + skew;
        if (expires <= now) {
            throw new CredentialException(CredentialFailure.EXPIRED);
        }
        Date start = set.getNotBeforeTime();
        if (start != null && start.toInstant().toEpochMilli() - skew > now) {
            throw new CredentialException(CredentialFailure.NOT_YET_VALID);
        }
        return expires;
    }
}
