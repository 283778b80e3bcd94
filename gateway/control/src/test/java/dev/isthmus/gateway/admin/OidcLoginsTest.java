package dev.isthmus.gateway.admin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.sun.net.httpserver.HttpServer;
import dev.isthmus.gateway.admin.OidcLogins.LoginCookie;
import dev.isthmus.gateway.identity.OidcLogin;
import dev.isthmus.gateway.identity.OidcProvider;
import dev.isthmus.gateway.settings.AdminConfig.AdminRole;
import dev.isthmus.gateway.settings.OidcConfig;
import dev.isthmus.oip.OipException;
import io.netty.handler.codec.http.QueryStringDecoder;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Which browsers may come back from a provider. That they get a session is in the test with a real one. */
class OidcLoginsTest {
    private static final String HOST = "localhost:9901";

    private final AtomicLong nanos = new AtomicLong(1L << 40);
    private final AdminRoutes routes = new AdminRoutes();
    private final List<Operator> begun = new ArrayList<>();
    private final ExecutorService threads = Executors.newCachedThreadPool();
    /** Without permits the provider does not answer. */
    private final Semaphore answers = new Semaphore(1);

    private HttpServer server;
    private OidcLogins logins;

    @BeforeEach
    void start() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        String issuer = "http://127.0.0.1:" + server.getAddress().getPort();
        String metadata = """
                {"issuer": "%1$s", "authorization_endpoint": "%1$s/auth", "token_endpoint": "%1$s/token", "jwks_uri": "%1$s/keys"}
                """.formatted(issuer);
        server.setExecutor(threads);
        server.createContext("/", exchange -> {
            answers.acquireUninterruptibly();
            answers.release();
            boolean described = exchange.getRequestURI().getPath().endsWith("openid-configuration");
            byte[] body = (described ? metadata : "{\"error\": \"invalid_grant\"}").getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(described ? 200 : 400, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.start();
        OidcConfig config = new OidcConfig(
                issuer, "isthmus", null, null, List.of(), "sub", "groups", Map.of("*", AdminRole.READ), null);
        OidcProvider provider = new OidcProvider(config, InstantSource.system(), nanos::get);
        logins = new OidcLogins(config, provider, new SecureRandom(), nanos::get, (request, operator) -> {
            begun.add(operator);
            return "cookie";
        });
        logins.addTo(routes);
    }

    @AfterEach
    void stop() {
        server.stop(0);
        threads.shutdown();
    }

    private AdminResponse get(String path, Map<String, List<String>> query, String cookie, boolean secure) {
        Map<String, String> headers = Map.of("host", HOST, "cookie", cookie);
        AdminRequest request = new AdminRequest(
                "",
                query,
                name -> headers.getOrDefault(name, ""),
                "",
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 1),
                secure,
                "",
                () -> true);
        return Objects.requireNonNull(routes.find("GET", path))
                .route()
                .handler()
                .apply(request);
    }

    private AdminResponse begin() {
        return get(OidcLogins.PATH, Map.of(), "", false);
    }

    private static Map<String, List<String>> sent(AdminResponse begin) {
        return new QueryStringDecoder(begin.headers().getOrDefault("location", "")).parameters();
    }

    private static String cookie(AdminResponse begin) {
        String cookie = begin.headers().getOrDefault("set-cookie", "");
        return cookie.substring(0, cookie.indexOf(';'));
    }

    private String back(AdminResponse begin, String cookie, Map<String, List<String>> more) {
        Map<String, List<String>> query = new HashMap<>(more);
        query.putIfAbsent("state", sent(begin).get("state"));
        try {
            return "status " + get(OidcConfig.CALLBACK, query, cookie, false).status();
        } catch (OipException e) {
            return e.message();
        }
    }

    @Test
    void browser_isSentToTheProvider() {
        AdminResponse begin = begin();
        assertThat(begin.status()).isEqualTo(302);
        assertThat(sent(begin))
                .containsEntry("redirect_uri", List.of("http://localhost:9901/session/oidc/callback"))
                .containsEntry("scope", List.of("openid"));
        assertThat(begin.headers().get("set-cookie"))
                .matches("isthmus-login-9901=[\\w-]{100,400}; Path=/session/oidc; Max-Age=600; HttpOnly; SameSite=Lax");
        AdminResponse secure = get(OidcLogins.PATH, Map.of(), "", true);
        assertThat(sent(secure)).containsEntry("redirect_uri", List.of("https://localhost:9901/session/oidc/callback"));
        assertThat(secure.headers().get("set-cookie")).endsWith("; Secure");
    }

    @Test
    void login_belongsToItsBrowser() {
        AdminResponse begin = begin();
        Map<String, List<String>> code = Map.of("code", List.of("c"));
        assertThat(back(begin, "", code)).contains("not begun by this browser");
        assertThat(back(begin, cookie(begin()), code)).contains("not begun by this browser");
        assertThat(back(begin, cookie(begin), Map.of("code", List.of("c"), "state", List.of("x"))))
                .contains("not begun by this browser");
        // The right one gets as far as the provider.
        assertThat(back(begin, cookie(begin), code)).isEqualTo("the provider has refused the login: invalid_grant");
        assertThat(begun).isEmpty();
    }

    @Test
    void login_isOverAfterTenMinutes() {
        AdminResponse begin = begin();
        nanos.addAndGet(601_000_000_000L);
        assertThat(back(begin, cookie(begin), Map.of("code", List.of("c")))).contains("or is over");
    }

    @Test
    void refusalOfTheProvider_isTold() {
        AdminResponse begin = begin();
        assertThat(back(begin, cookie(begin), Map.of("error", List.of("access_denied"))))
                .isEqualTo("the provider has refused the login: access_denied");
        AdminResponse other = begin();
        assertThat(back(other, cookie(other), Map.of())).contains("query parameter code is expected");
    }

    @Test
    void manyLogins_doNotEndTheFirst() {
        AdminResponse first = begin();
        for (int i = 0; i < 1000; i++) {
            begin();
        }
        assertThat(back(first, cookie(first), Map.of("code", List.of("c"))))
                .isEqualTo("the provider has refused the login: invalid_grant");
    }

    @Test
    void cookie_hasNothingThatCanBeRead() {
        AdminResponse begin = begin();
        String value = cookie(begin).substring("isthmus-login-9901=".length());
        String state = Objects.requireNonNull(sent(begin).get("state")).getFirst();
        assertThat(new String(Base64.getUrlDecoder().decode(value), StandardCharsets.ISO_8859_1))
                .doesNotContain(state)
                .doesNotContain(state.substring(0, 8));
        assertThat(cookie(begin())).isNotEqualTo(cookie(begin()));
    }

    @Test
    void forgedCookie_isRefused() {
        AdminResponse begin = begin();
        Map<String, List<String>> code = Map.of("code", List.of("c"));
        String cookie = cookie(begin);
        int start = cookie.indexOf('=') + 1;
        for (int i = start; i < cookie.length() - 1; i++) {
            char other = cookie.charAt(i) == 'A' ? 'B' : 'A';
            String forged = cookie.substring(0, i) + other + cookie.substring(i + 1);
            assertThat(back(begin, forged, code)).contains("not begun by this browser");
        }
        for (int end = start; end < cookie.length() - 1; end++) {
            assertThat(back(begin, cookie.substring(0, end), code)).contains("not begun by this browser");
        }
        for (String text : List.of("", "A", "x".repeat(16), "=", "%", cookie.substring(start) + "AAAA")) {
            assertThat(back(begin, cookie.substring(0, start) + text, code)).contains("not begun by this browser");
        }
    }

    @Test
    void cookieOfAnotherProcess_isRefused() {
        AtomicLong clock = new AtomicLong(nanos.get());
        OidcLogin login = OidcLogin.random(new SecureRandom());
        LoginCookie one = new LoginCookie(new SecureRandom(), clock::get);
        LoginCookie other = new LoginCookie(new SecureRandom(), clock::get);
        assertThat(one.login(one.value(login))).isEqualTo(login);
        assertThat(other.login(one.value(login))).isNull();
        clock.addAndGet(TimeUnit.MINUTES.toNanos(10));
        String value = one.value(login);
        clock.addAndGet(TimeUnit.MINUTES.toNanos(10));
        assertThat(one.login(value)).isEqualTo(login);
        clock.incrementAndGet();
        assertThat(one.login(value)).isNull();
    }

    /** The other threads of the admin listener serve everybody else. */
    @Test
    void providerThatDoesNotAnswer_isWaitedForByFew() throws Exception {
        answers.acquire();
        List<Future<AdminResponse>> waiting = new ArrayList<>();
        for (int i = 0; i < OidcLogins.MAX_ASKING; i++) {
            waiting.add(threads.submit(this::begin));
        }
        await().atMost(Duration.ofSeconds(30))
                .untilAsserted(() -> assertThatThrownBy(() -> {
                            if (logins.asking() == OidcLogins.MAX_ASKING) {
                                begin();
                            }
                        })
                        .hasMessageContaining("other logins wait for the provider"));
        answers.release();
        for (Future<AdminResponse> each : waiting) {
            assertThat(each.get().status()).isEqualTo(302);
        }
        assertThat(begin().status()).isEqualTo(302);
    }

    @Test
    void manyFailures_areLimited() {
        assertThatThrownBy(() -> {
                    for (int i = 0; i < 500; i++) {
                        AdminResponse begin = begin();
                        Map<String, List<String>> query = Map.of(
                                "code", List.of("c"), "state", sent(begin).get("state"));
                        try {
                            get(OidcConfig.CALLBACK, query, cookie(begin), false);
                        } catch (OipException e) {
                            if (e.message().contains("too many")) {
                                throw e;
                            }
                        }
                    }
                })
                .hasMessageContaining("too many failed logins from this address");
    }
}
