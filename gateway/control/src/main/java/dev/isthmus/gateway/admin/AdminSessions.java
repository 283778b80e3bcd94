package dev.isthmus.gateway.admin;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.gateway.identity.CredentialCheckLimit;
import dev.isthmus.gateway.net.RateBucket;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SequencedMap;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Who is authorized on the admin address: requests with the token, and those of browsers with a session, which began
 * with the token. A session ends after twelve hours, when its browser ends it, and when the token is replaced.
 * Thread-safe.
 */
final class AdminSessions {
    /** Shows the session, or begins one. */
    static final String PATH = "/session";
    /** Ends the session. */
    static final String END_PATH = "/session/end";

    static final int MAX_SESSIONS = 64;
    static final Duration AGE = Duration.ofHours(12);
    private static final String COOKIE = "isthmus-session";
    private static final int ID_BYTES = 32;
    /** The length in bytes from which a token cannot be guessed at any rate. */
    private static final int UNGUESSABLE = 16;
    /** A page of another origin cannot send it: its browser would ask first, and the answer is no. */
    private static final String CONSOLE = "x-isthmus-console";

    private static final ObjectMapper JSON = new ObjectMapper();

    private final AdminToken token;
    private final SecureRandom random;
    private final LongSupplier nanoTime;
    private final CredentialCheckLimit failures;
    /** By id, the oldest first. Guarded by itself. */
    private final SequencedMap<String, BrowserSession> sessions = new LinkedHashMap<>();

    /**
     * A browser that has logged in.
     *
     * @param token with which it did
     * @param began on the scale of {@link System#nanoTime()}
     */
    private record BrowserSession(String token, long began) {}

    /** @param nanoTime on the scale of {@link System#nanoTime()} */
    AdminSessions(AdminToken token, LongSupplier nanoTime, SecureRandom random) {
        this.token = token;
        this.random = random;
        this.nanoTime = nanoTime;
        this.failures = new CredentialCheckLimit(nanoTime);
    }

    void addTo(AdminRoutes routes) {
        routes.route(AdminRoutes.GET, PATH, this::show)
                .route(AdminRoutes.POST, PATH, this::begin)
                .route(AdminRoutes.POST, END_PATH, this::end);
    }

    /** Whether a request needs the token, or a session. */
    boolean isNeeded(boolean changes, String path) {
        return token.isNeeded(changes, path);
    }

    /**
     * Checks a request that needs the token. Reads a file.
     *
     * @throws OipException if the request is not authorized
     */
    void require(AdminRequest request, boolean changes) {
        token.requireConfigured();
        String authorization = request.header().apply("authorization");
        if (authorization.isEmpty() && hasSession(request)) {
            requireConsole(request, changes);
        } else {
            check(request, AdminToken.bearer(authorization), "header Authorization: the token is wrong");
        }
    }

    /**
     * A token that nobody can guess is accepted however many wrong ones others send from the same address. One that
     * could be guessed is not: trying must not become faster.
     */
    private void check(AdminRequest request, String given, String wrong) {
        boolean right = token.is(given);
        if (right && given.length() >= UNGUESSABLE) {
            return;
        }
        RateBucket failed = failures.begin(request.peer());
        if (failed == null) {
            throw OipException.refused(
                    ErrorCode.RESOURCE_EXHAUSTED, "too many wrong tokens from this address", Duration.ofSeconds(1));
        }
        if (!right) {
            throw new OipException(ErrorCode.UNAUTHENTICATED, wrong);
        }
        failed.refund(1);
    }

    private static void requireConsole(AdminRequest request, boolean changes) {
        if (request.header().apply(CONSOLE).isEmpty()) {
            throw new OipException(
                    ErrorCode.PERMISSION_DENIED, "header " + CONSOLE + " is expected of a browser's request");
        }
        // That it is the one of this address is checked of all requests.
        if (changes && request.header().apply("origin").isEmpty()) {
            throw new OipException(
                    ErrorCode.PERMISSION_DENIED, "header Origin is expected of a browser's change, got none");
        }
    }

    private boolean hasSession(AdminRequest request) {
        String id = id(request);
        BrowserSession session;
        synchronized (sessions) {
            session = id == null ? null : sessions.get(id);
        }
        return session != null && nanoTime.getAsLong() - session.began() < AGE.toNanos() && token.is(session.token());
    }

    private static @Nullable String id(AdminRequest request) {
        String prefix = cookie(request) + "=";
        for (String each : request.header().apply("cookie").split(";", -1)) {
            String pair = each.strip();
            if (pair.startsWith(prefix)) {
                return pair.substring(prefix.length());
            }
        }
        return null;
    }

    /** Browsers send cookies to all ports of a host, which may be several gateways: so the name has the port. */
    private static String cookie(AdminRequest request) {
        String host = request.header().apply("host");
        String port = host.substring(host.lastIndexOf(':') + 1);
        return port.matches("[0-9]{1,5}") ? COOKIE + "-" + port : COOKIE;
    }

    private AdminResponse show(AdminRequest request) {
        Map<String, Object> document = new LinkedHashMap<>();
        document.put("token_configured", token.isConfigured());
        document.put("reading_needs_token", token.guardsReading());
        document.put("session", token.isConfigured() && hasSession(request));
        return AdminResponse.json(200, document);
    }

    private AdminResponse begin(AdminRequest request) {
        token.requireConfigured();
        requireConsole(request, true);
        String given = given(request.body());
        check(request, given, "the token is wrong");
        byte[] bytes = new byte[ID_BYTES];
        random.nextBytes(bytes);
        String id = Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
        synchronized (sessions) {
            if (sessions.size() >= MAX_SESSIONS) {
                sessions.pollFirstEntry();
            }
            sessions.put(id, new BrowserSession(given, nanoTime.getAsLong()));
        }
        return AdminResponse.json(200, Map.of("session", true))
                .with("set-cookie", setCookie(request, id, AGE.toSeconds()));
    }

    private static String given(String body) {
        try {
            JsonNode member = JSON.readTree(body).path("token");
            if (member.isTextual()) {
                return member.asText().strip();
            }
        } catch (JsonProcessingException malformed) {
            // The text might be the token: it is in no message.
        }
        throw new OipException(ErrorCode.INVALID_ARGUMENT, "a body of the form {\"token\": \"...\"} is expected");
    }

    private AdminResponse end(AdminRequest request) {
        requireConsole(request, true);
        String id = id(request);
        if (id != null) {
            synchronized (sessions) {
                sessions.remove(id);
            }
        }
        return AdminResponse.json(200, Map.of("session", false)).with("set-cookie", setCookie(request, "", 0));
    }

    private static String setCookie(AdminRequest request, String id, long seconds) {
        return cookie(request) + "=" + id + "; Path=/; Max-Age=" + seconds + "; HttpOnly; SameSite=Strict"
                + (request.secure() ? "; Secure" : "");
    }
}
