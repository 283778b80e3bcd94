package dev.isthmus.gateway.admin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class AdminSessionsTest {
    private static final String TOKEN = "a-long-secret";
    private static final String HOST = "localhost:9901";
    private static final Map<String, String> BROWSER =
            Map.of("host", HOST, "origin", "http://" + HOST, "x-isthmus-console", "1");

    @TempDir
    Path folder = Path.of(".");

    private final AtomicLong nanos = new AtomicLong(1);
    private final AdminRoutes routes = new AdminRoutes();
    private AdminSessions sessions = new AdminSessions(new AdminToken(null, false), nanos::get, new SecureRandom());

    @BeforeEach
    void token() throws IOException {
        write(TOKEN);
        sessions = new AdminSessions(new AdminToken(folder.resolve("token"), true), nanos::get, new SecureRandom());
        sessions.addTo(routes);
    }

    private void write(String token) throws IOException {
        Path file = Files.writeString(folder.resolve("token"), token + "\n");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
    }

    private static AdminRequest request(Map<String, String> headers, String body, boolean secure) {
        return new AdminRequest(
                "",
                Map.of(),
                name -> headers.getOrDefault(name, ""),
                body,
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 1),
                secure,
                () -> true);
    }

    private static Map<String, String> with(Map<String, String> headers, String name, String value) {
        Map<String, String> all = new HashMap<>(headers);
        all.put(name, value);
        return all;
    }

    private static Map<String, String> without(Map<String, String> headers, String name) {
        Map<String, String> all = new HashMap<>(headers);
        all.remove(name);
        return all;
    }

    private AdminResponse post(String path, Map<String, String> headers, String body) {
        return post(path, request(headers, body, false));
    }

    private AdminResponse post(String path, AdminRequest request) {
        var route = routes.find("POST", path);
        return route == null ? AdminResponse.error(404, path) : route.handler().apply(request);
    }

    private AdminResponse login(String token) {
        return post("/session", BROWSER, "{\"token\": \"" + token + "\"}");
    }

    private static String cookie(AdminResponse response) {
        return response.headers().getOrDefault("set-cookie", "").split(";", -1)[0];
    }

    private void require(Map<String, String> headers, boolean changes) {
        sessions.require(request(headers, "", false), changes);
    }

    private static void expect(ErrorCode code, ThrowingCallable refused) {
        assertThatThrownBy(refused)
                .isInstanceOfSatisfying(
                        OipException.class, e -> assertThat(e.code()).isEqualTo(code));
    }

    @Test
    void login_givesACookieThatScriptsAndOtherSitesDoNotGet() {
        String cookie = login(TOKEN).headers().getOrDefault("set-cookie", "");
        assertThat(cookie)
                .matches("isthmus-session-9901=[A-Za-z0-9_-]{43}; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict")
                .doesNotContain(TOKEN);
    }

    @Test
    void login_overTls_isSecure() {
        AdminResponse response = post("/session", request(BROWSER, "{\"token\":\"" + TOKEN + "\"}", true));
        assertThat(response.headers().get("set-cookie")).endsWith("; Secure");
    }

    @Test
    void sessions_areDifferent_andOfOnePort() {
        Set<String> ids = new HashSet<>();
        for (int i = 0; i < 20; i++) {
            ids.add(cookie(login(TOKEN)));
        }
        assertThat(ids).hasSize(20);
        String other = ids.iterator().next();
        expect(
                ErrorCode.UNAUTHENTICATED,
                () -> require(with(with(BROWSER, "cookie", other), "host", "localhost:9902"), false));
    }

    @Test
    void session_authorizesReadingAndChanges_ofTheConsoleOnly() {
        Map<String, String> browser = with(BROWSER, "cookie", "a=b; " + cookie(login(TOKEN)) + "; c=d");
        assertThatCode(() -> require(browser, true)).doesNotThrowAnyException();
        assertThatCode(() -> require(without(browser, "origin"), false)).doesNotThrowAnyException();
        expect(ErrorCode.PERMISSION_DENIED, () -> require(without(browser, "origin"), true));
        expect(ErrorCode.PERMISSION_DENIED, () -> require(without(browser, "x-isthmus-console"), true));
        expect(ErrorCode.PERMISSION_DENIED, () -> require(without(browser, "x-isthmus-console"), false));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "isthmus-session-9901=", "isthmus-session-9901=x", "isthmus-session=x", "=", ";;"})
    void cookies_ofNobody_areRefused(String cookie) {
        login(TOKEN);
        expect(ErrorCode.UNAUTHENTICATED, () -> require(with(BROWSER, "cookie", cookie), false));
    }

    @Test
    void session_ends_whenItsBrowserEndsIt() {
        Map<String, String> browser = with(BROWSER, "cookie", cookie(login(TOKEN)));
        AdminResponse ended = post("/session/end", browser, "");
        assertThat(ended.headers().get("set-cookie"))
                .startsWith("isthmus-session-9901=; ")
                .contains("Max-Age=0");
        expect(ErrorCode.UNAUTHENTICATED, () -> require(browser, false));
    }

    @Test
    void session_ends_whenTheTokenIsReplaced_andAfterTwelveHours() throws IOException {
        Map<String, String> browser = with(BROWSER, "cookie", cookie(login(TOKEN)));
        write("another");
        expect(ErrorCode.UNAUTHENTICATED, () -> require(browser, false));
        write(TOKEN);
        assertThatCode(() -> require(browser, false)).doesNotThrowAnyException();
        nanos.addAndGet(AdminSessions.AGE.toNanos() + 1);
        expect(ErrorCode.UNAUTHENTICATED, () -> require(browser, false));
    }

    @Test
    void sessions_areBounded_theOldestEnds() {
        Map<String, String> first = with(BROWSER, "cookie", cookie(login(TOKEN)));
        Map<String, String> second = with(BROWSER, "cookie", cookie(login(TOKEN)));
        for (int i = 2; i <= AdminSessions.MAX_SESSIONS; i++) {
            login(TOKEN);
        }
        expect(ErrorCode.UNAUTHENTICATED, () -> require(first, false));
        assertThatCode(() -> require(second, false)).doesNotThrowAnyException();
    }

    @Test
    void login_wrong_isRefused_andLimited() {
        expect(ErrorCode.UNAUTHENTICATED, () -> login("wrong"));
        expect(ErrorCode.INVALID_ARGUMENT, () -> post("/session", BROWSER, "{\"token\": 1}"));
        expect(ErrorCode.INVALID_ARGUMENT, () -> post("/session", BROWSER, TOKEN));
        for (int i = 0; i < 99; i++) {
            expect(ErrorCode.UNAUTHENTICATED, () -> login("wrong"));
        }
        expect(ErrorCode.RESOURCE_EXHAUSTED, () -> login("wrong"));
        expect(ErrorCode.RESOURCE_EXHAUSTED, () -> require(Map.of("authorization", "Bearer wrong"), false));
        nanos.addAndGet(1_000_000_000);
        assertThat(login(TOKEN).status()).isEqualTo(200);
    }

    @Test
    void rightToken_isAccepted_whileWrongOnesComeFromTheSameAddress() throws IOException {
        String token = "0123456789abcdef";
        write(token);
        for (int i = 0; i < 200; i++) {
            assertThatThrownBy(() -> login("wrong")).isInstanceOf(OipException.class);
        }
        require(Map.of("authorization", "Bearer " + token), true);
        assertThat(login(token).status()).isEqualTo(200);
        expect(ErrorCode.RESOURCE_EXHAUSTED, () -> login("wrong"));
    }

    @Test
    void shortToken_isGuessedNoFaster() {
        for (int i = 0; i < 200; i++) {
            assertThatThrownBy(() -> login("wrong")).isInstanceOf(OipException.class);
        }
        expect(ErrorCode.RESOURCE_EXHAUSTED, () -> login(TOKEN));
    }

    @Test
    void login_ofAnotherPage_isRefused() {
        String body = "{\"token\": \"" + TOKEN + "\"}";
        expect(ErrorCode.PERMISSION_DENIED, () -> post("/session", without(BROWSER, "x-isthmus-console"), body));
        expect(ErrorCode.PERMISSION_DENIED, () -> post("/session", without(BROWSER, "origin"), body));
    }

    @Test
    void header_withTheToken_needsNoSession() {
        assertThatCode(() -> require(Map.of("authorization", "Bearer " + TOKEN), true))
                .doesNotThrowAnyException();
        expect(ErrorCode.UNAUTHENTICATED, () -> require(Map.of("authorization", "Basic " + TOKEN), true));
    }

    @Test
    void withoutATokenFile_nobodyLogsIn() {
        sessions = new AdminSessions(new AdminToken(null, false), nanos::get, new SecureRandom());
        sessions.addTo(routes);
        expect(ErrorCode.PERMISSION_DENIED, () -> login(""));
        expect(ErrorCode.PERMISSION_DENIED, () -> require(BROWSER, true));
        assertThat(sessions.isNeeded(false, "/servers")).isFalse();
        assertThat(sessions.isNeeded(true, "/reload")).isTrue();
    }

    @Test
    void pageAndFiles_areOpen_andNothingElse() {
        for (String open : new String[] {"/", "/console/files/console.js", "/session", "/live", "/ready"}) {
            assertThat(sessions.isNeeded(false, open)).as(open).isFalse();
        }
        for (String guarded :
                new String[] {"/console/overview", "/config", "/console/filesx", "/console", "/index.html"}) {
            assertThat(sessions.isNeeded(false, guarded)).as(guarded).isTrue();
        }
        assertThat(sessions.isNeeded(true, "/console/files/console.js")).isTrue();
    }
}
