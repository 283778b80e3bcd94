package dev.isthmus.gateway.admin;

import dev.isthmus.gateway.identity.CredentialCheckLimit;
import dev.isthmus.gateway.identity.OidcLogin;
import dev.isthmus.gateway.identity.OidcProvider;
import dev.isthmus.gateway.identity.OidcProvider.OidcOperator;
import dev.isthmus.gateway.net.RateBucket;
import dev.isthmus.gateway.settings.OidcConfig;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Logins of browsers with OpenID Connect: sends them to the provider, and begins their session when they come back.
 * What is known of a login is kept here, and belongs to the browser that has begun it by a cookie. Thread-safe.
 */
final class OidcLogins {
    /** Sends a browser to the provider. */
    static final String PATH = "/session/oidc";

    static final int MAX_LOGINS = 256;
    /** Requests to the provider at once: it may be slow, and the admin listener has few threads. */
    static final int MAX_ASKING = 2;

    private static final long KEPT_NANOS = TimeUnit.MINUTES.toNanos(10);
    private static final String COOKIE = "isthmus-login";
    private static final String HOST = "host";
    private static final int FOUND = 302;

    private final OidcConfig config;
    private final OidcProvider provider;
    private final SecureRandom random;
    private final LongSupplier nanoTime;
    private final CredentialCheckLimit failures;
    private final SessionStart sessions;
    private final Semaphore asking = new Semaphore(MAX_ASKING);
    /** By state, the oldest first. Guarded by itself. */
    private final SequencedMap<String, PendingLogin> pending = new LinkedHashMap<>();

    /** Begins the session of an operator; returns the cookie of the session. */
    @FunctionalInterface
    interface SessionStart {
        String begin(AdminRequest request, Operator operator);
    }

    /**
     * A login whose browser is at the provider.
     *
     * @param browser the value of its cookie
     * @param began on the scale of {@link System#nanoTime()}
     */
    private record PendingLogin(OidcLogin login, String browser, String redirectUrl, long began) {}

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
        this.nanoTime = nanoTime;
        this.failures = new CredentialCheckLimit(nanoTime);
        this.sessions = sessions;
    }

    void addTo(AdminRoutes routes) {
        routes.route(AdminRoutes.GET, PATH, RouteAccess.OPEN, this::begin)
                .route(AdminRoutes.GET, OidcConfig.CALLBACK, RouteAccess.OPEN, this::finish);
    }

    private AdminResponse begin(AdminRequest request) {
        OidcLogin login = OidcLogin.random(random);
        String browser = OidcLogin.random(random).state();
        String redirect = config.redirectUrl() == null ? redirectUrl(request) : config.redirectUrl();
        String location = asked(() -> provider.authorization(login, redirect)).toString();
        synchronized (pending) {
            if (pending.size() >= MAX_LOGINS) {
                pending.pollFirstEntry();
            }
            pending.put(login.state(), new PendingLogin(login, browser, redirect, nanoTime.getAsLong()));
        }
        // Lax: the browser comes back from another site.
        String cookie =
                BrowserCookie.set(COOKIE, request, browser, TimeUnit.NANOSECONDS.toSeconds(KEPT_NANOS), PATH, "Lax");
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

    private static String redirectUrl(AdminRequest request) {
        String host = request.header().apply(HOST);
        if (host.isEmpty()) {
            throw new OipException(ErrorCode.INVALID_ARGUMENT, "header Host is expected, got none");
        }
        return (request.secure() ? "https://" : "http://") + host + OidcConfig.CALLBACK;
    }

    private AdminResponse finish(AdminRequest request) {
        PendingLogin login = taken(request);
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
        OidcOperator operator = asked(() -> provider.operator(login.login(), login.redirectUrl(), code));
        failed.refund(1);
        // The page has no data: it is followed by requests of its own origin, which carry the cookie.
        return redirected("/")
                .with("set-cookie", sessions.begin(request, new Operator(operator.name(), operator.role())));
    }

    /** The login that a browser comes back from. It can do so once. */
    private PendingLogin taken(AdminRequest request) {
        String state = parameter(request, "state");
        PendingLogin login;
        synchronized (pending) {
            login = state == null ? null : pending.get(state);
            boolean own = login != null && login.browser().equals(BrowserCookie.get(COOKIE, request));
            if (own) {
                pending.remove(state);
            } else {
                login = null;
            }
        }
        if (login == null || nanoTime.getAsLong() - login.began() > KEPT_NANOS) {
            throw new OipException(
                    ErrorCode.PERMISSION_DENIED,
                    "this login was not begun by this browser, or is over; begin again at the console");
        }
        return login;
    }

    private static @Nullable String parameter(AdminRequest request, String name) {
        List<String> values = request.query().getOrDefault(name, List.of());
        return values.size() == 1 ? values.getFirst() : null;
    }

    private static AdminResponse redirected(String location) {
        return new AdminResponse(FOUND, "text/plain; charset=utf-8", "", Map.of("location", location), null, null);
    }
}
