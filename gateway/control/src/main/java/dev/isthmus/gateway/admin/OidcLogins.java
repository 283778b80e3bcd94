package dev.isthmus.gateway.admin;

import dev.isthmus.gateway.admin.AdminSessions.BrowserCookie;
import dev.isthmus.gateway.identity.CredentialCheckLimit;
import dev.isthmus.gateway.identity.OidcLogin;
import dev.isthmus.gateway.identity.OidcProvider;
import dev.isthmus.gateway.identity.OidcProvider.OidcOperator;
import dev.isthmus.gateway.net.RateBucket;
import dev.isthmus.gateway.settings.OidcConfig;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import javax.crypto.AEADBadTagException;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;
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

    /**
     * What is known of a login at a provider, in a cookie of its browser: encrypted and authenticated (AES-256-GCM, NIST SP
     * 800-38D) with a key that only this process has. So the gateway keeps nothing of logins that have begun, however many
     * there are. Thread-safe.
     */
    static final class LoginCookie {
        static final String NAME = "isthmus-login";
        /** For how long a login may take. */
        static final long SECONDS = TimeUnit.MINUTES.toSeconds(10);

        private static final String ALGORITHM = "AES/GCM/NoPadding";
        private static final int KEY_BYTES = 32;
        private static final int NONCE_BYTES = 12;
        private static final int TAG_BITS = 128;

        private final SecureRandom random;
        private final LongSupplier nanoTime;
        private final SecretKeySpec key;

        /**
         * With a new key: cookies of another process are not accepted.
         *
         * @param nanoTime on the scale of {@link System#nanoTime()}
         */
        LoginCookie(SecureRandom random, LongSupplier nanoTime) {
            this.random = random;
            this.nanoTime = nanoTime;
            byte[] bytes = new byte[KEY_BYTES];
            random.nextBytes(bytes);
            this.key = new SecretKeySpec(bytes, "AES");
        }

        /** The cookie's value for a login that begins now. */
        String value(OidcLogin login) {
            byte[] nonce = new byte[NONCE_BYTES];
            random.nextBytes(nonce);
            ByteArrayOutputStream sealed = new ByteArrayOutputStream();
            sealed.writeBytes(nonce);
            try {
                sealed.writeBytes(cipher(Cipher.ENCRYPT_MODE, nonce).doFinal(plain(login)));
            } catch (GeneralSecurityException e) {
                throw new IllegalStateException("every Java has AES/GCM", e);
            }
            return Base64.getUrlEncoder().withoutPadding().encodeToString(sealed.toByteArray());
        }

        private Cipher cipher(int mode, byte[] nonce) throws GeneralSecurityException {
            Cipher cipher = Cipher.getInstance(ALGORITHM);
            cipher.init(mode, key, new GCMParameterSpec(TAG_BITS, nonce));
            return cipher;
        }

        /** The time and what is in the login, all without spaces. */
        private byte[] plain(OidcLogin login) {
            return (nanoTime.getAsLong() + " " + login.state() + " " + login.nonce() + " " + login.verifier())
                    .getBytes(StandardCharsets.US_ASCII);
        }

        /** The login of a cookie; null if this process has not made the cookie, or the login has taken too long. */
        @Nullable
        OidcLogin login(@Nullable String value) {
            byte[] sealed = value == null ? null : decoded(value);
            if (sealed == null || sealed.length < NONCE_BYTES + TAG_BITS / 8) {
                return null;
            }
            try {
                Cipher cipher = cipher(Cipher.DECRYPT_MODE, Arrays.copyOf(sealed, NONCE_BYTES));
                return read(cipher.doFinal(sealed, NONCE_BYTES, sealed.length - NONCE_BYTES));
            } catch (AEADBadTagException forged) {
                return null;
            } catch (GeneralSecurityException e) {
                throw new IllegalStateException("every Java has AES/GCM", e);
            }
        }

        private static byte @Nullable [] decoded(String value) {
            try {
                return Base64.getUrlDecoder().decode(value);
            } catch (IllegalArgumentException notBase64) {
                return null;
            }
        }

        private @Nullable OidcLogin read(byte[] plain) {
            String[] parts = new String(plain, StandardCharsets.US_ASCII).split(" ", -1);
            long age = nanoTime.getAsLong() - Long.parseLong(parts[0]);
            return age > TimeUnit.SECONDS.toNanos(SECONDS) ? null : new OidcLogin(parts[1], parts[2], parts[3]);
        }
    }
}
