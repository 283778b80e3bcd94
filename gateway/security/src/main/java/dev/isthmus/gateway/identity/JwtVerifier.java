package dev.isthmus.gateway.identity;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.SignedJWT;
import dev.isthmus.gateway.call.Principal;
import dev.isthmus.gateway.net.RateBucket;
import dev.isthmus.gateway.settings.AccessConfig.IdentifiedBy;
import dev.isthmus.gateway.settings.AuthenticationConfig.JwtAlgorithm;
import dev.isthmus.gateway.settings.AuthenticationConfig.JwtConfig;
import java.net.SocketAddress;
import java.text.ParseException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Collection;
import java.util.Collections;
import java.util.Date;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Verifies JSON Web Tokens (RFC 7519, 7.2) of one or more issuers. Tokens with a good signature are kept until they
 * expire or their issuer's keys change, others of an issuer for a minute. A token that is not kept costs one check of a
 * signature, on the calling thread, unless it names no issuer that is known; each address may cause a limited number of
 * checks that fail. Thread-safe.
 */
final class JwtVerifier {
    private static final int MAX_KEPT = 10_000;
    private static final Duration IDLE = Duration.ofHours(1);
    private static final Duration REFUSED_KEPT = Duration.ofMinutes(1);

    private final Map<String, TokenIssuer> issuers;
    private final InstantSource clock;
    private final CredentialCheckLimit failedChecks;
    private final Cache<Sha256Digest, VerifiedToken> verified = Caffeine.newBuilder()
            .maximumSize(MAX_KEPT)
            .expireAfterAccess(IDLE)
            .executor(Runnable::run)
            .build();
    /** Apart from those that are valid, which bad ones cannot evict. */
    private final Cache<Sha256Digest, RefusedToken> refused = Caffeine.newBuilder()
            .maximumSize(MAX_KEPT)
            .expireAfterWrite(REFUSED_KEPT)
            .executor(Runnable::run)
            .build();

    /**
     * A token with a good signature.
     *
     * @param startsMillis when it becomes valid, with the skew, since the epoch
     * @param expiresMillis when it ceases to be, with the skew, since the epoch
     * @param keys by which it was verified
     */
    private record VerifiedToken(
            Principal principal, long startsMillis, long expiresMillis, TokenIssuer issuer, SigningKeys keys) {
        Principal at(long now) throws CredentialException {
            if (expiresMillis <= now) {
                throw new CredentialException(CredentialFailure.EXPIRED);
            }
            if (startsMillis > now) {
                throw new CredentialException(CredentialFailure.NOT_YET_VALID);
            }
            return principal;
        }
    }

    /** A token that is never valid as long as the issuer has these keys. */
    private record RefusedToken(CredentialFailure failure, SigningKeys keys) {}

    /**
     * @param issuers each with another name
     * @param nanoTime the scale of rates, as {@link System#nanoTime()}
     */
    JwtVerifier(List<TokenIssuer> issuers, InstantSource clock, LongSupplier nanoTime) {
        this.issuers = issuers.stream()
                .collect(Collectors.toUnmodifiableMap(each -> each.config().issuer(), each -> each));
        this.clock = clock;
        this.failedChecks = new CredentialCheckLimit(nanoTime);
    }

    /** @param sender the address that sent it; null if it is not known */
    Principal verify(String token, @Nullable SocketAddress sender) throws CredentialException {
        Sha256Digest digest = Sha256Digest.of(token);
        VerifiedToken known = verified.getIfPresent(digest);
        if (known == null || known.keys() != known.issuer().keys().current()) {
            known = check(token, digest, sender);
            verified.put(digest, known);
        }
        return known.at(clock.millis());
    }

    private VerifiedToken check(String token, Sha256Digest digest, @Nullable SocketAddress sender)
            throws CredentialException {
        try {
            SignedJWT jwt = SignedJWT.parse(token);
            String name = jwt.getJWTClaimsSet().getIssuer();
            TokenIssuer issuer = name == null ? null : issuers.get(name);
            if (issuer == null) {
                throw new CredentialException(CredentialFailure.ISSUER);
            }
            SigningKeys keys = issuer.keys().current();
            if (keys == null) {
                throw new CredentialException(CredentialFailure.KEYS_UNAVAILABLE);
            }
            RefusedToken bad = refused.getIfPresent(digest);
            if (bad != null && bad.keys() == keys) {
                throw new CredentialException(bad.failure());
            }
            try {
                checkSignature(jwt, issuer, keys, sender);
                return issuer.verified(jwt.getJWTClaimsSet(), keys);
            } catch (CredentialException e) {
                if (e.failure().lasts()) {
                    refused.put(digest, new RefusedToken(e.failure(), keys));
                }
                throw e;
            }
        } catch (ParseException | RuntimeException malformed) {
            throw new CredentialException(CredentialFailure.MALFORMED);
        }
    }

    private void checkSignature(SignedJWT jwt, TokenIssuer issuer, SigningKeys keys, @Nullable SocketAddress sender)
            throws CredentialException {
        JWSHeader header = jwt.getHeader();
        if (!issuer.accepts(header.getAlgorithm())) {
            throw new CredentialException(CredentialFailure.ALGORITHM);
        }
        // No extension that must be understood (RFC 7515, 4.1.11) is.
        if (header.getCriticalParams() != null || !header.isBase64URLEncodePayload()) {
            throw new CredentialException(CredentialFailure.MALFORMED);
        }
        List<SigningKeys.SigningKey> candidates = keys.candidates(header.getKeyID(), header.getAlgorithm());
        if (candidates.isEmpty()) {
            throw new CredentialException(
                    issuer.keys().refreshes()
                            ? CredentialFailure.KEYS_UNAVAILABLE
                            : CredentialFailure.UNKNOWN_SIGNING_KEY);
        }
        RateBucket failures = failedChecks.begin(sender);
        if (failures == null) {
            throw new CredentialException(CredentialFailure.TOO_MANY_FAILURES);
        }
        if (!isSigned(jwt, candidates)) {
            throw new CredentialException(CredentialFailure.SIGNATURE);
        }
        failures.refund(1);
    }

    private static boolean isSigned(SignedJWT jwt, List<SigningKeys.SigningKey> candidates) {
        try {
            for (SigningKeys.SigningKey key : candidates) {
                if (key.verifier().verify(jwt.getHeader(), jwt.getSigningInput(), jwt.getSignature())) {
                    return true;
                }
            }
            return false;
        } catch (JOSEException malformed) {
            return false;
        }
    }

    /** Where an issuer's keys come from. Thread-safe; never blocks. */
    interface SigningKeySource {

        /** The last good keys; null before there were any. */
        @Nullable
        SigningKeys current();

        /**
         * A token names a key that is not among them.
         *
         * @return whether newer keys are on their way, so that the request is worth repeating
         */
        default boolean refreshes() {
            return false;
        }
    }

    /** An issuer of tokens: what it is to say in them, and its keys. */
    record TokenIssuer(JwtConfig config, SigningKeySource keys) {
        private static final int MAX_NAME = 255;

        /** Names are compared exactly; the only one that is not in capitals is EdDSA. */
        boolean accepts(JWSAlgorithm algorithm) {
            return config.algorithms().stream()
                    .map(each -> each == JwtAlgorithm.EDDSA ? JWSAlgorithm.EdDSA.getName() : each.name())
                    .anyMatch(algorithm.getName()::equals);
        }

        /** A token whose signature is good by these keys, and whose issuer is this one. */
        private VerifiedToken verified(JWTClaimsSet set, SigningKeys by) throws CredentialException {
            Date expiration = set.getExpirationTime();
            if (expiration == null) {
                throw new CredentialException(CredentialFailure.MALFORMED);
            }
            if (Collections.disjoint(set.getAudience(), config.audiences())) {
                throw new CredentialException(CredentialFailure.AUDIENCE);
            }
            long skew = config.skew().toMillis();
            Date start = set.getNotBeforeTime();
            return new VerifiedToken(
                    principal(set),
                    start == null ? Long.MIN_VALUE : start.toInstant().toEpochMilli() - skew,
                    expiration.toInstant().toEpochMilli() + skew,
                    this,
                    by);
        }

        private Principal principal(JWTClaimsSet set) throws CredentialException {
            if (!(set.getClaim(config.nameClaim()) instanceof String name)
                    || name.isBlank()
                    || name.length() > MAX_NAME) {
                throw new CredentialException(CredentialFailure.NO_NAME);
            }
            Map<String, Set<String>> texts = new HashMap<>();
            set.getClaims().forEach((claim, value) -> {
                Set<String> values = texts(value);
                if (!values.isEmpty()) {
                    texts.put(claim, Set.copyOf(values));
                }
            });
            return new Principal(name, groups(set.getClaim(config.groupsClaim())), texts, IdentifiedBy.JWT);
        }

        private static Set<String> groups(@Nullable Object claim) {
            return claim instanceof String text
                    ? new HashSet<>(List.of(text.strip().split(" +", -1)))
                    : claim == null ? Set.of() : texts(claim);
        }

        /** Texts, numbers and booleans; of a list, those in it. */
        private static Set<String> texts(@Nullable Object value) {
            Collection<?> values =
                    value instanceof Collection<?> list ? list : value == null ? List.of() : List.of(value);
            return values.stream()
                    .filter(each -> each instanceof String || each instanceof Number || each instanceof Boolean)
                    .map(Object::toString)
                    .collect(Collectors.toSet());
        }
    }
}
