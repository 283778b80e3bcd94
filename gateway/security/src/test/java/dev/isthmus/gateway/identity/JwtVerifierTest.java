package dev.isthmus.gateway.identity;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.util.Base64URL;
import com.nimbusds.jwt.JWTClaimsSet;
import dev.isthmus.gateway.call.Principal;
import dev.isthmus.gateway.identity.JwtVerifier.SigningKeySource;
import dev.isthmus.gateway.identity.JwtVerifier.TokenIssuer;
import dev.isthmus.gateway.settings.AuthenticationConfig.JwtAlgorithm;
import dev.isthmus.gateway.settings.AuthenticationConfig.JwtConfig;
import dev.isthmus.gateway.settings.ConfigException;
import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.TestConfigs;
import java.net.InetSocketAddress;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Date;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class JwtVerifierTest {
    private static final TestIssuer ISSUER = new TestIssuer("");
    private static final TestIssuer STRANGER = new TestIssuer("");
    private static final JwtConfig CONFIG = TestConfigs.with(
            DefaultValues.of(JwtConfig.class),
            Map.of("issuer", TestIssuer.ISSUER, "audiences", List.of(TestIssuer.AUDIENCE)));

    private static final InetSocketAddress SENDER = new InetSocketAddress("192.0.2.1", 1);
    private static final InetSocketAddress ANOTHER = new InetSocketAddress("192.0.2.2", 1);

    private final AtomicLong now = new AtomicLong(System.currentTimeMillis());
    private final AtomicLong nanos = new AtomicLong();
    private volatile @Nullable SigningKeys keys = read(ISSUER);
    private volatile boolean refreshing;
    private JwtVerifier verifier = verifier(CONFIG);

    private static SigningKeys read(TestIssuer issuer) {
        try {
            return SigningKeys.parse("keys", issuer.keys());
        } catch (ConfigException e) {
            throw new LinkageError("keys", e);
        }
    }

    private JwtVerifier verifier(JwtConfig config, TokenIssuer... others) {
        List<TokenIssuer> issuers = new ArrayList<>(List.of(others));
        issuers.add(new TokenIssuer(config, new SigningKeySource() {
            @Override
            public @Nullable SigningKeys current() {
                return keys;
            }

            @Override
            public boolean refreshes() {
                return refreshing;
            }
        }));
        return new JwtVerifier(issuers, () -> Instant.ofEpochMilli(now.get()), nanos::get);
    }

    private Principal verify(String token) throws CredentialException {
        return verifier.verify(token, SENDER);
    }

    private void expect(CredentialFailure failure, String token) {
        assertThatThrownBy(() -> verify(token))
                .isInstanceOfSatisfying(
                        CredentialException.class,
                        refused -> assertThat(refused.failure()).isEqualTo(failure));
    }

    private static JWTClaimsSet claims() {
        return TestIssuer.claims("alice").build();
    }

    @Test
    void eachAlgorithm_isAccepted() throws Exception {
        assertThat(verify(ISSUER.token(claims())).name()).isEqualTo("alice");
        assertThat(verify(ISSUER.es256(claims())).name()).isEqualTo("alice");
        assertThat(verify(ISSUER.eddsa(claims())).name()).isEqualTo("alice");
    }

    @ParameterizedTest
    @ValueSource(strings = {"RS384", "RS512", "PS256", "PS384", "PS512", "ES384", "ES512"})
    void furtherAlgorithm_isAcceptedIfAllowed(String name) throws Exception {
        String token = ISSUER.signed(JWSAlgorithm.parse(name), claims());
        expect(CredentialFailure.ALGORITHM, token);
        verifier = verifier(TestConfigs.with(CONFIG, Map.of("algorithms", Set.of(JwtAlgorithm.valueOf(name)))));
        assertThat(verify(token).name()).isEqualTo("alice");
        expect(CredentialFailure.SIGNATURE, STRANGER.signed(JWSAlgorithm.parse(name), claims()));
        expect(CredentialFailure.ALGORITHM, ISSUER.token(claims()));
    }

    @Test
    void keyForOneAlgorithm_verifiesNoOther() throws Exception {
        verifier = verifier(TestConfigs.with(CONFIG, Map.of("algorithms", Set.of(JwtAlgorithm.values()))));
        keys = SigningKeys.parse("keys", ISSUER.keys().replace("\"kty\":\"RSA\"", "\"kty\":\"RSA\",\"alg\":\"PS512\""));
        assertThat(verify(ISSUER.signed(JWSAlgorithm.PS512, claims())).name()).isEqualTo("alice");
        expect(CredentialFailure.UNKNOWN_SIGNING_KEY, ISSUER.token(claims()));
    }

    @Test
    void issuerThatATokenNames_isTheOneThatVerifiesIt() throws Exception {
        JwtConfig other = TestConfigs.with(
                CONFIG,
                Map.of("issuer", "https://other.example", "audiences", List.of("theirs"), "nameClaim", "email"));
        SigningKeys theirs = read(STRANGER);
        verifier = verifier(CONFIG, new TokenIssuer(other, () -> theirs));
        JWTClaimsSet.Builder claims = TestIssuer.claims("bob")
                .issuer(other.issuer())
                .audience("theirs")
                .claim("email", "bob@other.example");
        String token = STRANGER.token(claims.build());
        assertThat(verify(token).name()).isEqualTo("bob@other.example");
        assertThat(verify(ISSUER.token(claims())).name()).isEqualTo("alice");
        // Neither by the keys of the other one, nor for its audience.
        expect(CredentialFailure.SIGNATURE, ISSUER.token(claims.build()));
        expect(CredentialFailure.SIGNATURE, STRANGER.token(claims()));
        expect(
                CredentialFailure.AUDIENCE,
                STRANGER.token(claims.audience(TestIssuer.AUDIENCE).build()));
        // One whose keys are unknown does not concern the other.
        keys = null;
        expect(CredentialFailure.KEYS_UNAVAILABLE, ISSUER.token(claims()));
        expect(
                CredentialFailure.ISSUER,
                ISSUER.token(TestIssuer.claims("a").issuer("third").build()));
        assertThat(verify(token).name()).isEqualTo("bob@other.example");
    }

    @Test
    void verifiedToken_isOneCaller() throws Exception {
        String token = ISSUER.token(claims());
        assertThat(verify(token)).isSameAs(verify(token));
    }

    @Test
    void claims_becomeTexts() throws Exception {
        Principal caller = verify(ISSUER.token(TestIssuer.claims("alice")
                .claim("groups", List.of("a", "b"))
                .claim("level", 3)
                .claim("nested", Map.of("a", "b"))
                .build()));
        assertThat(caller.groups()).containsExactlyInAnyOrder("a", "b");
        assertThat(caller.claims()).containsEntry("level", Set.of("3")).doesNotContainKey("nested");
    }

    @Test
    void groups_inOneText_areSeparatedBySpaces() throws Exception {
        verifier = verifier(TestConfigs.with(CONFIG, Map.of("groupsClaim", "scope")));
        String token =
                ISSUER.token(TestIssuer.claims("a").claim("scope", "x  y").build());
        assertThat(verify(token).groups()).containsExactlyInAnyOrder("x", "y");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", ".", "..", "a.b.c", "e30.e30.e30", "e30.e30", "a.b.c.d.e", "\u00e9.a.b"})
    void malformedToken_isRefused(String token) {
        expect(CredentialFailure.MALFORMED, token);
    }

    @Test
    void deeplyNestedToken_isRefused() {
        String json = "{\"alg\":\"RS256\",\"a\":" + "[".repeat(9000) + "]".repeat(9000) + "}";
        expect(CredentialFailure.MALFORMED, Base64URL.encode(json) + ".e30.e30");
        String[] parts = ISSUER.token(claims()).split("\\.", -1);
        expect(CredentialFailure.MALFORMED, parts[0] + "." + Base64URL.encode(json) + "." + parts[2]);
    }

    @Test
    void unsignedToken_isRefused() {
        String none = Base64URL.encode("{\"alg\":\"none\"}") + "."
                + claims().toPayload().toBase64URL() + ".";
        assertThatThrownBy(() -> verify(none)).isInstanceOf(CredentialException.class);
    }

    @Test
    void symmetricAlgorithm_isRefused() throws Exception {
        expect(CredentialFailure.ALGORITHM, ISSUER.hs256(claims()));
    }

    @Test
    void algorithmThatIsNotAllowed_isRefused() throws Exception {
        verifier = verifier(TestConfigs.with(CONFIG, Map.of("algorithms", Set.of(JwtAlgorithm.RS256))));
        expect(CredentialFailure.ALGORITHM, ISSUER.es256(claims()));
    }

    @Test
    void keyOfAnotherIssuer_isRefused() throws Exception {
        expect(CredentialFailure.SIGNATURE, STRANGER.token(claims()));
        expect(CredentialFailure.SIGNATURE, STRANGER.es256(claims()));
        expect(CredentialFailure.SIGNATURE, STRANGER.eddsa(claims()));
    }

    @Test
    void keyOfAnotherAlgorithm_isRefused() {
        JWSHeader header = new JWSHeader.Builder(JWSAlgorithm.RS256)
                .keyID(ISSUER.ec.getKeyID())
                .build();
        expect(CredentialFailure.UNKNOWN_SIGNING_KEY, ISSUER.rs256(header, claims()));
    }

    @Test
    void criticalHeader_isRefused() {
        JWSHeader header = new JWSHeader.Builder(JWSAlgorithm.RS256)
                .keyID(ISSUER.rsa.getKeyID())
                .criticalParams(Set.of("exp"))
                .build();
        expect(CredentialFailure.MALFORMED, ISSUER.rs256(header, claims()));
    }

    @Test
    void changedPayload_isRefused() {
        String[] parts = ISSUER.token(claims()).split("\\.", -1);
        String other =
                TestIssuer.claims("root").build().toPayload().toBase64URL().toString();
        expect(CredentialFailure.SIGNATURE, parts[0] + "." + other + "." + parts[2]);
    }

    @Test
    void wrongClaims_areRefused() {
        expect(
                CredentialFailure.ISSUER,
                ISSUER.token(TestIssuer.claims("a").issuer("other").build()));
        expect(
                CredentialFailure.ISSUER,
                ISSUER.token(TestIssuer.claims("a").issuer(null).build()));
        expect(
                CredentialFailure.AUDIENCE,
                ISSUER.token(TestIssuer.claims("a").audience("other").build()));
        expect(
                CredentialFailure.AUDIENCE,
                ISSUER.token(TestIssuer.claims("a").audience((String) null).build()));
        expect(
                CredentialFailure.NO_NAME,
                ISSUER.token(TestIssuer.claims("a").subject(null).build()));
        expect(CredentialFailure.NO_NAME, ISSUER.token(TestIssuer.claims(" ").build()));
        expect(
                CredentialFailure.MALFORMED,
                ISSUER.token(TestIssuer.claims("a").expirationTime(null).build()));
    }

    @Test
    void times_areCheckedWithTheSkew() {
        Date start = Date.from(Instant.ofEpochMilli(now.get()).plusSeconds(40));
        expect(
                CredentialFailure.NOT_YET_VALID,
                ISSUER.token(TestIssuer.claims("a").notBeforeTime(start).build()));
        Date end = Date.from(Instant.ofEpochMilli(now.get()).minusSeconds(40));
        expect(
                CredentialFailure.EXPIRED,
                ISSUER.token(TestIssuer.claims("a").expirationTime(end).build()));
    }

    @Test
    void differenceOfClocks_isTolerated() throws Exception {
        Date start = Date.from(Instant.ofEpochMilli(now.get()).plusSeconds(20));
        Date end = Date.from(Instant.ofEpochMilli(now.get()).minusSeconds(20));
        verify(ISSUER.token(TestIssuer.claims("a").notBeforeTime(start).build()));
        verify(ISSUER.token(TestIssuer.claims("a").expirationTime(end).build()));
    }

    @Test
    void verifiedToken_expires() throws Exception {
        String token = ISSUER.token(claims());
        verify(token);
        now.addAndGet(631_000);
        expect(CredentialFailure.EXPIRED, token);
    }

    @Test
    void verifiedToken_isCheckedAgainWhenKeysChange() throws Exception {
        String token = ISSUER.token(claims());
        verify(token);
        keys = read(new TestIssuer("-next"));
        expect(CredentialFailure.UNKNOWN_SIGNING_KEY, token);
        refreshing = true;
        expect(CredentialFailure.KEYS_UNAVAILABLE, token);
    }

    @Test
    void tokenThatIsNotYetValid_becomesValid() throws Exception {
        Date start = Date.from(Instant.ofEpochMilli(now.get()).plusSeconds(40));
        String token = ISSUER.token(TestIssuer.claims("a").notBeforeTime(start).build());
        expect(CredentialFailure.NOT_YET_VALID, token);
        now.addAndGet(20_000);
        assertThat(verify(token).name()).isEqualTo("a");
    }

    @Test
    void refusedToken_isCheckedAgainWhenKeysChange() throws Exception {
        String token = STRANGER.token(claims());
        expect(CredentialFailure.SIGNATURE, token);
        expect(CredentialFailure.SIGNATURE, token);
        keys = read(STRANGER);
        assertThat(verify(token).name()).isEqualTo("alice");
    }

    @Test
    void repeatedBadToken_isCheckedOnce() {
        String token = STRANGER.token(claims());
        for (int i = 0; i < 10 * CredentialCheckLimit.AT_ONCE; i++) {
            expect(CredentialFailure.SIGNATURE, token);
        }
    }

    /** Tokens that differ in their last claim, with the signature of another one. */
    private static String unsigned(int number) {
        String[] parts = ISSUER.token(claims()).split("\\.", -1);
        return parts[0] + "."
                + TestIssuer.claims("a" + number).build().toPayload().toBase64URL() + "." + parts[2];
    }

    @Test
    void manyBadTokens_ofOneAddress_areNotChecked_andOthersAre() throws Exception {
        String known = ISSUER.token(claims());
        verify(known);
        for (int i = 0; i < CredentialCheckLimit.AT_ONCE; i++) {
            expect(CredentialFailure.SIGNATURE, unsigned(i));
        }
        expect(CredentialFailure.TOO_MANY_FAILURES, unsigned(CredentialCheckLimit.AT_ONCE));
        expect(CredentialFailure.TOO_MANY_FAILURES, ISSUER.es256(claims()));
        assertThat(verify(known).name()).isEqualTo("alice");
        assertThat(verifier.verify(ISSUER.es256(claims()), ANOTHER).name()).isEqualTo("alice");
        assertThat(verifier.verify(ISSUER.eddsa(claims()), null).name()).isEqualTo("alice");
        nanos.addAndGet(TimeUnit.SECONDS.toNanos(1));
        assertThat(verify(ISSUER.es256(claims())).name()).isEqualTo("alice");
    }

    @Test
    void goodTokens_areNotLimited() throws Exception {
        for (int i = 0; i < 2 * CredentialCheckLimit.AT_ONCE; i++) {
            assertThat(verify(ISSUER.es256(TestIssuer.claims("a" + i).build())).name())
                    .isEqualTo("a" + i);
        }
    }

    @Test
    void keysUnknown_isNotTheClientsFault() {
        keys = null;
        expect(CredentialFailure.KEYS_UNAVAILABLE, ISSUER.token(claims()));
    }

    @Test
    void keySet_withoutUsableKeys_isRefused() {
        for (String json : List.of("", "{}", "[]", "{\"keys\":[]}", "{\"keys\":[{\"kty\":\"oct\",\"k\":\"YQ\"}]}")) {
            assertThatThrownBy(() -> SigningKeys.parse("k.json", json))
                    .isInstanceOfSatisfying(
                            ConfigException.class,
                            refused -> assertThat(refused.problems()).allMatch(each -> each.startsWith("k.json: ")));
        }
    }
}
