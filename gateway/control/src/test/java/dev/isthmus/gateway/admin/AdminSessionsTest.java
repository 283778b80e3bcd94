package dev.isthmus.gateway.admin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.gateway.audit.AuditLog;
import dev.isthmus.gateway.settings.AdminConfig;
import dev.isthmus.gateway.settings.AdminConfig.AdminRole;
import dev.isthmus.gateway.settings.AdminConfig.AdminSessionConfig;
import dev.isthmus.gateway.settings.AdminConfig.AdminTokenConfig;
import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.InstantSource;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
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
    private final AuditLog audit = new AuditLog(InstantSource.system());
    private AdminSessions sessions = sessions(DefaultValues.with(AdminConfig.DEFAULT, "port", 0), true);

    @BeforeEach
    void token() throws IOException {
        write(TOKEN);
        sessions = sessions(
                new AdminConfig(
                        "127.0.0.1",
                        0,
                        folder.resolve("token"),
                        Map.of(
                                "dashboard",
                                new AdminTokenConfig(write("dashboard", "reads"), AdminRole.READ),
                                "on-call",
                                new AdminTokenConfig(write("on-call", "operates"), AdminRole.OPERATE)),
                        DefaultValues.of(AdminSessionConfig.class),
                        null,
                        List.of(),
                        null,
                        null,
                        null),
                false);
        sessions.addTo(routes);
    }

    private AdminSessions sessions(AdminConfig config, boolean loopback) {
        return new AdminSessions(config, loopback, audit, nanos::get, new SecureRandom());
    }

    private void write(String token) throws IOException {
        write("token", token);
    }

    private Path write(String name, String token) throws IOException {
        Path file = Files.writeString(folder.resolve(name), token + "\n");
        return Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
    }

    private static AdminRequest request(Map<String, String> headers, String body, boolean secure) {
        return new AdminRequest(
                "",
                Map.of(),
                name -> headers.getOrDefault(name, ""),
                body,
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 1),
                secure,
                "",
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
        return route == null
                ? AdminResponse.error(404, path)
                : route.route().handler().apply(request);
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
    void session_ends_whenTheTokenIsReplaced() throws IOException {
        Map<String, String> browser = with(BROWSER, "cookie", cookie(login(TOKEN)));
        write("another");
        expect(ErrorCode.UNAUTHENTICATED, () -> require(browser, false));
        write(TOKEN);
        assertThatCode(() -> require(browser, false)).doesNotThrowAnyException();
    }

    @Test
    void session_ends_whenItIsNotUsed_thoughItsPageRefreshes() {
        Map<String, String> browser = with(BROWSER, "cookie", cookie(login(TOKEN)));
        nanos.addAndGet(Duration.ofMinutes(59).toNanos());
        require(with(browser, "x-isthmus-console", "active"), false);
        nanos.addAndGet(Duration.ofMinutes(59).toNanos());
        require(browser, false);
        nanos.addAndGet(Duration.ofMinutes(1).toNanos());
        expect(ErrorCode.UNAUTHENTICATED, () -> require(browser, false));
        expect(ErrorCode.UNAUTHENTICATED, () -> require(with(browser, "x-isthmus-console", "active"), false));
    }

    @Test
    void session_ends_twelveHoursAfterTheLogin_howeverMuchItIsUsed() {
        Map<String, String> browser =
                with(with(BROWSER, "cookie", cookie(login(TOKEN))), "x-isthmus-console", "active");
        for (int i = 0; i < 23; i++) {
            nanos.addAndGet(Duration.ofMinutes(30).toNanos());
            require(browser, true);
        }
        nanos.addAndGet(Duration.ofMinutes(30).toNanos());
        expect(ErrorCode.UNAUTHENTICATED, () -> require(browser, true));
    }

    @ParameterizedTest
    @CsvSource({
        "reads,dashboard,DIAGNOSIS,true",
        "reads,dashboard,OPERATE,false",
        "reads,dashboard,ADMIN,false",
        "operates,on-call,DIAGNOSIS,true",
        "operates,on-call,OPERATE,true",
        "operates,on-call,ADMIN,false",
        "a-long-secret,admin,ADMIN,true",
    })
    void role_isThatOfTheToken_byHeaderAndBySession(String token, String name, RouteAccess access, boolean allowed) {
        Map<String, String> browser = with(BROWSER, "cookie", cookie(login(token)));
        for (Map<String, String> headers : List.of(Map.of("authorization", "Bearer " + token), browser)) {
            Operator operator = sessions.require(request(headers, "", false), false);
            assertThat(operator.name()).isEqualTo(name);
            if (allowed) {
                AdminSessions.requireRole(operator, access);
            } else {
                assertThatThrownBy(() -> AdminSessions.requireRole(operator, access))
                        .hasMessageContaining("the role " + access.role().label() + " is needed; '" + name
                                + "' has the role " + operator.role().label());
            }
        }
    }

    @Test
    void token_ofTwoFiles_hasTheLesserRole() throws IOException {
        write("on-call", "reads");
        assertThat(sessions.require(request(Map.of("authorization", "Bearer reads"), "", false), false)
                        .name())
                .isEqualTo("dashboard");
    }

    @Test
    void file_thatIsMissing_concernsItsOwnTokenOnly() throws IOException {
        Files.delete(folder.resolve("on-call"));
        require(Map.of("authorization", "Bearer " + TOKEN), true);
        assertThatThrownBy(() -> require(Map.of("authorization", "Bearer operates"), true))
                .hasMessageContaining("the file admin.tokens.on-call.file cannot be read");
    }

    @Test
    void session_showsNameAndRole_andIsAudited() throws IOException {
        Map<String, String> browser = with(BROWSER, "cookie", cookie(login("operates")));
        var route = Objects.requireNonNull(routes.find("GET", "/session"));
        assertThat(route.route().handler().apply(request(browser, "", false)).body())
                .contains("\"name\" : \"on-call\"", "\"role\" : \"operate\"", "\"idle_seconds\" : 3600");
        post("/session/end", browser, "");
        assertThat(audit.document(10, null, null).toString())
                .contains("who=on-call, role=operate, from=127.0.0.1:1, action=logout", "action=login");
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
    void manyLoginsOfALesserRole_endTheirOwnSessions() throws IOException {
        Map<String, String> admin = with(BROWSER, "cookie", cookie(login(TOKEN)));
        Map<String, String> onCall = with(BROWSER, "cookie", cookie(login("operates")));
        Map<String, String> dashboard = with(BROWSER, "cookie", cookie(login("reads")));
        for (int i = 0; i < 2 * AdminSessions.MAX_SESSIONS; i++) {
            login("reads");
        }
        assertThatCode(() -> require(admin, true)).doesNotThrowAnyException();
        assertThatCode(() -> require(onCall, true)).doesNotThrowAnyException();
        expect(ErrorCode.UNAUTHENTICATED, () -> require(dashboard, false));
    }

    @Test
    void login_ofWhoHasNoSession_endsOneOfTheLeastRole() throws IOException {
        Map<String, String> onCall = with(BROWSER, "cookie", cookie(login("operates")));
        for (int i = 1; i < AdminSessions.MAX_SESSIONS; i++) {
            login("reads");
        }
        Map<String, String> admin = with(BROWSER, "cookie", cookie(login(TOKEN)));
        assertThatCode(() -> require(admin, true)).doesNotThrowAnyException();
        assertThatCode(() -> require(onCall, true)).doesNotThrowAnyException();
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
        sessions = sessions(DefaultValues.with(AdminConfig.DEFAULT, "port", 0), true);
        sessions.addTo(routes);
        expect(ErrorCode.PERMISSION_DENIED, () -> login(""));
        expect(ErrorCode.PERMISSION_DENIED, () -> require(BROWSER, true));
        assertThat(sessions.isNeeded(RouteAccess.READ)).isFalse();
        assertThat(sessions.isNeeded(RouteAccess.OPERATE)).isTrue();
    }

    @Test
    void beyondLoopback_onlyOpenRoutesNeedNoToken() {
        assertThat(sessions.isNeeded(RouteAccess.OPEN)).isFalse();
        for (RouteAccess each : EnumSet.complementOf(EnumSet.of(RouteAccess.OPEN))) {
            assertThat(sessions.isNeeded(each)).as(each.name()).isTrue();
        }
    }
}
