package dev.isthmus.gateway.admin;

import dev.isthmus.gateway.identity.CredentialCheckLimit;
import dev.isthmus.gateway.identity.OidcLogin;
import dev.isthmus.gateway.identity.OidcProvider;
import dev.isthmus.gateway.identity.OidcProvider.OidcOperator;
import dev.isthmus.gateway.net.RateBucket;
import dev.isthmus.gateway.settings.OidcConfig;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Semaphore;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Logins of browsers with OpenID Connect: sends them to the provider, and begins their session when they come back.
 * What is known of a login is in a {@link LoginCookie} of the browser that has begun it. Thread-safe.
 */
final class OidcLogins {
    /** Sends a browser to the provider. */
    static final String PATH = "/session/oidc";

    /** Requests to the provider at once: it may be slow, and the admin listener has few threads. */
    static final int MAX_ASKING = 2;

    private static final String HOST = "host";
    private static final int FOUND = 302;

    private final OidcConfig config;
    private final OidcProvider provider;
    private final SecureRandom random;
    private final LoginCookie cookies;
    private final CredentialCheckLimit failures;
    private final SessionStart sessions;
    private final Semaphore asking = new Semaphore(MAX_ASKING);

    /** Begins the session of an operator; returns the cookie of the session. */
    @FunctionalInterface
    interface SessionStart {
        String begin(AdminRequest request, Operator operator);
    }

    /** @param nanoTime on the scale of {@link System#nanoTime()} */
    OidcLogins(
            OidcConfig config,
            OidcProvider provider,
            SecureRandom random,
            LongSupplier nanoTime,
            SessionStart sessions) {
        this.config = config;
        this.provider = provider;
        this.random = random;
        this.cookies = new LoginCookie(random, nanoTime);
        this.failures = new CredentialCheckLimit(nanoTime);
        this.sessions = sessions;
    }

    void addTo(AdminRoutes routes) {
        routes.route(AdminRoutes.GET, PATH, RouteAccess.OPEN, this::begin)
                .route(AdminRoutes.GET, OidcConfig.CALLBACK, RouteAccess.OPEN, this::finish);
    }

    private AdminResponse begin(AdminRequest request) {
        OidcLogin login = OidcLogin.random(random);
        String redirect = redirectUrl(request);
        String location = asked(() -> provider.authorization(login, redirect)).toString();
        // Lax: the browser comes back from another site.
        String cookie =
                BrowserCookie.set(LoginCookie.NAME, request, cookies.value(login), LoginCookie.SECONDS, PATH, "Lax");
        return redirected(location).with("set-cookie", cookie);
    }

    /** How many requests wait for the provider. */
    int asking() {
        return MAX_ASKING - asking.availablePermits();
    }

    private <T> T asked(Supplier<T> question) {
        if (!asking.tryAcquire()) {
            throw OipException.refused(
                    ErrorCode.UNAVAILABLE,
                    "other logins wait for the provider of OpenID Connect",
                    Duration.ofSeconds(1));
        }
        try {
            return question.get();
        } finally {
            asking.release();
        }
    }

    /** The address to which the provider sends the browser back. It must be the same when the code is exchanged. */
    private String redirectUrl(AdminRequest request) {
        if (config.redirectUrl() != null) {
            return config.redirectUrl();
        }
        String host = request.header().apply(HOST);
        if (host.isEmpty()) {
            throw new OipException(ErrorCode.INVALID_ARGUMENT, "header Host is expected, got none");
        }
        return (request.secure() ? "https://" : "http://") + host + OidcConfig.CALLBACK;
    }

    private AdminResponse finish(AdminRequest request) {
        OidcLogin login = begun(request);
        String refused = parameter(request, "error");
        if (refused != null) {
            throw new OipException(ErrorCode.PERMISSION_DENIED, "the provider has refused the login: " + refused);
        }
        String code = parameter(request, "code");
        if (code == null) {
            throw new OipException(ErrorCode.INVALID_ARGUMENT, "query parameter code is expected, got none");
        }
        RateBucket failed = failures.begin(request.peer());
        if (failed == null) {
            throw OipException.refused(
                    ErrorCode.RESOURCE_EXHAUSTED, "too many failed logins from this address", Duration.ofSeconds(1));
        }
        OidcOperator operator = asked(() -> provider.operator(login, redirectUrl(request), code));
        failed.refund(1);
        // The page has no data: it is followed by requests of its own origin, which carry the cookie.
        Operator known = new Operator(operator.name(), operator.role(), config.issuer());
        return redirected("/").with("set-cookie", sessions.begin(request, known));
    }

    /**
     * The login that a browser comes back from. That it ends once is for the provider to see to: a code is good for one
     * exchange (RFC 6749, 4.1.2), and its ID token has the nonce of one login.
     */
    private OidcLogin begun(AdminRequest request) {
        String state = parameter(request, "state");
        OidcLogin login = cookies.login(BrowserCookie.get(LoginCookie.NAME, request));
        if (state == null || login == null || !isEqual(state, login.state())) {
            throw new OipException(
                    ErrorCode.PERMISSION_DENIED,
                    "this login was not begun by this browser, or is over; begin again at the console");
        }
        return login;
    }

    private static boolean isEqual(String given, String expected) {
        return MessageDigest.isEqual(given.getBytes(StandardCharsets.UTF_8), expected.getBytes(StandardCharsets.UTF_8));
    }

    private static @Nullable String parameter(AdminRequest request, String name) {
        List<String> values = request.query().getOrDefault(name, List.of());
        return values.size() == 1 ? values.getFirst() : null;
    }

    private static AdminResponse redirected(String location) {
        return new AdminResponse(FOUND, "text/plain; charset=utf-8", "", Map.of("location", location), null, null);
    }
}
