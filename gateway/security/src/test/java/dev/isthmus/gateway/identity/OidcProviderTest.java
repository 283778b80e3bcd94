package dev.isthmus.gateway.identity;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.nimbusds.jwt.JWTClaimsSet;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.isthmus.gateway.identity.OidcProvider.OidcOperator;
import dev.isthmus.gateway.settings.AdminConfig.AdminRole;
import dev.isthmus.gateway.settings.OidcConfig;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Base64;
import java.util.Date;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What a provider may say; a real one is in the tests of the console. */
class OidcProviderTest {
    private static final TestIssuer ISSUER = new TestIssuer("");
    private static final String BACK = "https://isthmus.example/session/oidc/callback";
    private static final Map<String, AdminRole> ROLES =
            Map.of("viewers", AdminRole.READ, "on call", AdminRole.OPERATE, "platform", AdminRole.ADMIN);

    private final OidcLogin login = OidcLogin.random(new SecureRandom());
    private final AtomicLong nanos = new AtomicLong(1L << 40);
    private volatile String metadata = "";
    private volatile String keys = ISSUER.keys();
    private volatile String token = "";
    private volatile int tokenStatus = 200;
    private volatile String sent = "";
    private volatile String authorization = "";
    private HttpServer server;
    private String issuer = "";

    @BeforeEach
    void start() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        issuer = "http://127.0.0.1:" + server.getAddress().getPort() + "/realm";
        metadata = metadata(issuer, "client_secret_basic");
        server.createContext("/realm/.well-known/openid-configuration", exchange -> respond(exchange, 200, metadata));
        server.createContext("/realm/keys", exchange -> respond(exchange, 200, keys));
        server.createContext("/realm/token", exchange -> {
            sent = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
            authorization = String.valueOf(exchange.getRequestHeaders().getFirst("authorization"));
            respond(exchange, tokenStatus, token);
        });
        server.start();
        token = "{\"id_token\": \"" + ISSUER.token(claims().build()) + "\"}";
    }

    @AfterEach
    void stop() {
        server.stop(0);
    }

    private static void respond(HttpExchange exchange, int status, String body) throws IOException {
        byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(status, bytes.length);
        exchange.getResponseBody().write(bytes);
        exchange.close();
    }

    private String metadata(String named, String method) {
        return """
                {"issuer": "%s", "authorization_endpoint": "%s/auth?tenant=a", "token_endpoint": "%s/token",
                 "jwks_uri": "%s/keys", "token_endpoint_auth_methods_supported": ["%s"]}
                """.formatted(named, issuer, issuer, issuer, method);
    }

    private JWTClaimsSet.Builder claims() {
        return TestIssuer.claims("alice")
                .issuer(issuer)
                .claim("nonce", login.nonce())
                .claim("groups", List.of("viewers", "on call"));
    }

    private OidcProvider provider(@Nullable Path secret) {
        OidcConfig config = new OidcConfig(
                issuer, TestIssuer.AUDIENCE, secret, null, List.of("groups"), "sub", "groups", ROLES, null);
        return new OidcProvider(config, InstantSource.system(), nanos::get);
    }

    private OidcOperator operator() {
        return provider(null).operator(login, BACK, "the code");
    }

    private static void fails(ErrorCode code, String text, ThrowingCallable call) {
        assertThatThrownBy(call).isInstanceOfSatisfying(OipException.class, e -> {
            assertThat(e.code()).isEqualTo(code);
            assertThat(e.message()).contains(text);
        });
    }

    @Test
    void browser_isSentWithWhatComesBack() {
        URI uri = provider(null).authorization(login, BACK);
        assertThat(uri.toString()).startsWith(issuer + "/auth?tenant=a&response_type=code&client_id=isthmus&");
        assertThat(uri.getQuery().split("&"))
                .contains(
                        "redirect_uri=" + BACK,
                        "scope=openid+groups",
                        "state=" + login.state(),
                        "nonce=" + login.nonce(),
                        "code_challenge=" + login.challenge(),
                        "code_challenge_method=S256");
        assertThat(login.challenge()).isNotEqualTo(login.verifier());
    }

    /** The example of RFC 7636, appendix B. */
    @Test
    void challenge_isThatOfTheStandard() {
        assertThat(new OidcLogin("", "", "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk").challenge())
                .isEqualTo("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }

    @Test
    void operator_hasTheHighestRoleOfItsGroups() {
        assertThat(operator()).isEqualTo(new OidcOperator("alice", AdminRole.OPERATE));
        assertThat(sent)
                .isEqualTo("grant_type=authorization_code&code=the+code"
                        + "&redirect_uri=https%3A%2F%2Fisthmus.example%2Fsession%2Foidc%2Fcallback&code_verifier="
                        + login.verifier() + "&client_id=isthmus");
    }

    @Test
    void secret_isSentInTheWayThatTheProviderSupports(@TempDir Path folder) throws IOException {
        Path secret = Files.writeString(folder.resolve("secret"), "a:b c\n");
        provider(secret).operator(login, BACK, "c");
        String pair = new String(
                Base64.getDecoder().decode(authorization.substring("Basic ".length())), StandardCharsets.UTF_8);
        assertThat(pair).isEqualTo("isthmus:a%3Ab+c");
        assertThat(sent).doesNotContain("client_secret", "client_id");
        metadata = metadata(issuer, "client_secret_post");
        provider(secret).operator(login, BACK, "c");
        assertThat(sent).endsWith("&client_id=isthmus&client_secret=a%3Ab+c");
        assertThat(authorization).isEqualTo("null");
    }

    /** What makes a token one of another login, client or time. */
    enum WrongToken {
        NONCE,
        NO_NONCE,
        AUDIENCE,
        ISSUER,
        PARTY,
        NO_PARTY,
        PARTIES,
        EXPIRED,
        NO_NAME;

        JWTClaimsSet.Builder change(JWTClaimsSet.Builder claims) {
            return switch (this) {
                case NONCE -> claims.claim("nonce", "another");
                case NO_NONCE -> claims.claim("nonce", null);
                case AUDIENCE -> claims.audience("another");
                case ISSUER -> claims.issuer("https://another.example");
                case PARTY ->
                    claims.audience(List.of("another", TestIssuer.AUDIENCE)).claim("azp", "another");
                case NO_PARTY -> claims.audience(List.of("another", TestIssuer.AUDIENCE));
                case PARTIES -> claims.claim("azp", List.of("another", TestIssuer.AUDIENCE));
                case EXPIRED -> claims.expirationTime(Date.from(Instant.now().minusSeconds(60)));
                case NO_NAME -> claims.subject(" ");
            };
        }
    }

    @ParameterizedTest
    @EnumSource
    void wrongToken_isRefused(WrongToken wrong) {
        token = "{\"id_token\": \"" + ISSUER.token(wrong.change(claims()).build()) + "\"}";
        fails(ErrorCode.UNAUTHENTICATED, "the provider's ID token is not valid: ", this::operator);
    }

    @Test
    void tokenForSeveral_thatNamesThisClientAsItsParty_isAccepted() {
        JWTClaimsSet.Builder several =
                claims().audience(List.of("another", TestIssuer.AUDIENCE)).claim("azp", TestIssuer.AUDIENCE);
        token = "{\"id_token\": \"" + ISSUER.token(several.build()) + "\"}";
        assertThat(operator().name()).isEqualTo("alice");
    }

    @Test
    void textsOfTheProvider_areCut() {
        String large = "x".repeat(900_000);
        tokenStatus = 400;
        token = "{\"error\": \"" + large + "\"}";
        assertThatThrownBy(this::operator)
                .isInstanceOfSatisfying(
                        OipException.class, e -> assertThat(e.message()).hasSizeLessThan(600));
        metadata = metadata(large, "client_secret_basic");
        assertThatThrownBy(this::operator)
                .isInstanceOfSatisfying(
                        OipException.class, e -> assertThat(e.message()).hasSizeLessThan(600));
    }

    @Test
    void tokenOfOtherKeys_isRefused() throws Exception {
        token = "{\"id_token\": \"" + new TestIssuer("").token(claims().build()) + "\"}";
        fails(ErrorCode.UNAUTHENTICATED, "signature", this::operator);
        token = "{\"id_token\": \"" + ISSUER.hs256(claims().build()) + "\"}";
        fails(ErrorCode.UNAUTHENTICATED, "algorithm", this::operator);
    }

    @Test
    void keys_areThoseOfTheMoment() {
        operator();
        TestIssuer next = new TestIssuer("-2");
        keys = next.keys();
        token = "{\"id_token\": \"" + next.token(claims().build()) + "\"}";
        assertThat(operator().name()).isEqualTo("alice");
    }

    @Test
    void operator_withoutARole_isRefused() {
        token = "{\"id_token\": \""
                + ISSUER.token(claims().claim("groups", "others").build()) + "\"}";
        fails(ErrorCode.PERMISSION_DENIED, "'alice' has no role here", this::operator);
    }

    @Test
    void code_thatTheProviderRefuses_isTold() {
        tokenStatus = 400;
        token = "{\"error\": \"invalid_grant\"}";
        fails(ErrorCode.UNAUTHENTICATED, "refused the login: invalid_grant", this::operator);
        token = "null";
        fails(ErrorCode.UNAUTHENTICATED, "refused the login: no id_token", this::operator);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "null", "[]", "{}", "{\"issuer\": 1}"})
    void metadata_thatAreNone_areTold(String document) {
        metadata = document;
        fails(
                ErrorCode.UNAVAILABLE,
                "/.well-known/openid-configuration",
                () -> provider(null).authorization(login, BACK));
    }

    @Test
    void metadata_ofAnotherIssuer_orWithAnEndpointInPlainText_areRefused() {
        metadata = metadata("https://another.example", "client_secret_basic");
        fails(ErrorCode.UNAVAILABLE, "the issuer '" + issuer + "' is expected", this::operator);
        metadata = metadata(issuer, "client_secret_basic").replace(issuer + "/token", "http://example.com/token");
        fails(ErrorCode.UNAVAILABLE, "token_endpoint: an https URL", this::operator);
    }

    @Test
    void providerThatDoesNotRespond_isAskedAgainAfterAMoment() {
        OidcProvider provider = provider(null);
        String good = metadata;
        metadata = "";
        fails(ErrorCode.UNAVAILABLE, "JSON", () -> provider.authorization(login, BACK));
        metadata = good;
        fails(ErrorCode.UNAVAILABLE, "JSON", () -> provider.authorization(login, BACK));
        nanos.addAndGet(3_000_000_000L);
        assertThat(provider.authorization(login, BACK)).hasHost("127.0.0.1");
        server.stop(0);
        fails(ErrorCode.UNAVAILABLE, issuer + "/token: ", () -> provider.operator(login, BACK, "c"));
    }
}
