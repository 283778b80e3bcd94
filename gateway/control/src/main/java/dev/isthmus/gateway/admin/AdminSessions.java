package dev.isthmus.gateway.admin;

import dev.isthmus.gateway.audit.AuditLog;
import dev.isthmus.gateway.audit.AuditLog.AuditedChange;
import dev.isthmus.gateway.identity.CredentialCheckLimit;
import dev.isthmus.gateway.identity.OidcProvider;
import dev.isthmus.gateway.net.RateBucket;
import dev.isthmus.gateway.settings.AdminConfig;
import dev.isthmus.gateway.settings.AdminConfig.AdminRole;
import dev.isthmus.gateway.settings.SecretFile;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Who is authorized on the admin address: requests with a token, and those of browsers with a session, which began with
 * a token or a login at a provider. A session ends when it is too old or was not used for too long, when its browser ends it, and when the token
 * is replaced. Thread-safe.
 */
final class AdminSessions {
    /** Shows the session, or begins one. */
    static final String PATH = "/session";
    /** Ends the session. */
    static final String END_PATH = "/session/end";

    static final int MAX_SESSIONS = 64;
    private static final String COOKIE = "isthmus-session";
    private static final int ID_BYTES = 32;
    /** The length in bytes from which a token cannot be guessed at any rate. */
    private static final int UNGUESSABLE = 16;
    /** A page of another origin cannot send it: its browser would ask first, and the answer is no. */
    private static final String CONSOLE = "x-isthmus-console";
    /** The value of that header if the operator has just used the console: a page that refreshes itself is not used. */
    private static final String ACTIVE = "active";

    private final AdminTokens tokens;
    private final boolean loopback;
    private final AdminConfig.AdminSessionConfig times;
    private final AuditLog audit;
    private final SecureRandom random;
    private final LongSupplier nanoTime;
    private final CredentialCheckLimit failures;
    /** Null without OpenID Connect. */
    private final @Nullable OidcLogins logins;

    /** By id, the oldest first. Guarded by itself. */
    private final SequencedMap<String, BrowserSession> sessions = new LinkedHashMap<>();

    /**
     * A browser that has logged in.
     *
     * @param token with which it did; null if it has logged in at a provider
     * @param began on the scale of {@link System#nanoTime()}
     * @param used likewise, when the operator last used the console
     */
    private record BrowserSession(
            Operator operator, @Nullable String token, long began, long used) {
        BrowserSession usedAt(long now) {
            return new BrowserSession(operator, token, began, now);
        }
    }

    /**
     * @param loopback whether the listener's address is loopback
     * @param nanoTime on the scale of {@link System#nanoTime()}
     */
    AdminSessions(AdminConfig config, boolean loopback, AuditLog audit, LongSupplier nanoTime, SecureRandom random) {
        this.tokens = new AdminTokens(config);
        this.loopback = loopback;
        this.times = config.session();
        this.audit = audit;
        this.random = random;
        this.nanoTime = nanoTime;
        this.failures = new CredentialCheckLimit(nanoTime);
        this.logins = config.oidc() == null
                ? null
                : new OidcLogins(
                        config.oidc(),
                        new OidcProvider(config.oidc(), InstantSource.system(), nanoTime),
                        random,
                        nanoTime,
                        (request, operator) -> begin(request, operator, null));
    }

    void addTo(AdminRoutes routes) {
        routes.route(AdminRoutes.GET, PATH, RouteAccess.OPEN, this::show)
                .route(AdminRoutes.POST, PATH, RouteAccess.OPEN, this::begin)
                .route(AdminRoutes.POST, END_PATH, RouteAccess.OPEN, this::end);
        if (logins != null) {
            logins.addTo(routes);
        }
    }

    /** Whether a route needs a token, or a session. */
    boolean isNeeded(RouteAccess access) {
        return access.needsToken(loopback);
    }

    /**
     * Checks a request that needs a token, and says whose it is. Reads files.
     *
     * @throws OipException if the request is not authorized
     */
    Operator require(AdminRequest request, boolean changes) {
        if (logins == null) {
            tokens.requireConfigured();
        }
        String authorization = request.header().apply("authorization");
        BrowserSession session = authorization.isEmpty() ? session(request) : null;
        if (session == null) {
            return check(request, AdminTokens.bearer(authorization), "header Authorization: the token is wrong");
        }
        requireConsole(request, changes);
        return session.operator();
    }

    /**
     * Checks what the operator may do.
     *
     * @throws OipException PERMISSION_DENIED with the role that is needed
     */
    static void requireRole(Operator operator, RouteAccess access) {
        if (!operator.role().covers(access.role())) {
            throw new OipException(
                    ErrorCode.PERMISSION_DENIED,
                    "the role " + access.role().label() + " is needed; '" + operator.name() + "' has the role "
                            + operator.role().label());
        }
    }

    /**
     * A token that nobody can guess is accepted however many wrong ones others send from the same address. One that
     * could be guessed is not: trying must not become faster.
     */
    private Operator check(AdminRequest request, String given, String wrong) {
        Operator holder = tokens.holder(given);
        if (holder != null && given.length() >= UNGUESSABLE) {
            return holder;
        }
        RateBucket failed = failures.begin(request.peer());
        if (failed == null) {
            throw OipException.refused(
                    ErrorCode.RESOURCE_EXHAUSTED, "too many wrong tokens from this address", Duration.ofSeconds(1));
        }
        if (holder == null) {
            throw new OipException(ErrorCode.UNAUTHENTICATED, wrong);
        }
        failed.refund(1);
        return holder;
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

    /** The session of a request; null if it has none, or it has ended. */
    private @Nullable BrowserSession session(AdminRequest request) {
        String id = BrowserCookie.get(COOKIE, request);
        if (id == null) {
            return null;
        }
        long now = nanoTime.getAsLong();
        BrowserSession session;
        synchronized (sessions) {
            session = sessions.get(id);
            if (session != null && ended(session, now)) {
                sessions.remove(id);
                session = null;
            } else if (session != null && request.header().apply(CONSOLE).equals(ACTIVE)) {
                session = session.usedAt(now);
                sessions.replace(id, session);
            }
        }
        return session != null && (session.token() == null || tokens.holds(session.operator(), session.token()))
                ? session
                : null;
    }

    private boolean ended(BrowserSession session, long now) {
        return now - session.began() >= times.maxAge().toNanos()
                || now - session.used() >= times.idle().toNanos();
    }

    private AdminResponse show(AdminRequest request) {
        BrowserSession session = session(request);
        Map<String, Object> document = new LinkedHashMap<>();
        document.put("token_configured", tokens.areConfigured());
        document.put("oidc", logins != null);
        document.put("reading_needs_token", !loopback);
        document.put("session", session != null);
        if (session != null) {
            document.put("name", session.operator().name());
            document.put("role", session.operator().role().label());
            document.put("idle_seconds", times.idle().toSeconds());
            document.put("max_age_seconds", times.maxAge().toSeconds());
        }
        return AdminResponse.json(200, document);
    }

    private AdminResponse begin(AdminRequest request) {
        tokens.requireConfigured();
        requireConsole(request, true);
        String member = request.member("token");
        if (member == null) {
            throw new OipException(ErrorCode.INVALID_ARGUMENT, "a body of the form {\"token\": \"...\"} is expected");
        }
        String given = member.strip();
        Operator operator = check(request, given, "the token is wrong");
        return AdminResponse.json(
                        200,
                        Map.of(
                                "session",
                                true,
                                "name",
                                operator.name(),
                                "role",
                                operator.role().label()))
                .with("set-cookie", begin(request, operator, given));
    }

    /**
     * @param token with which the operator has logged in; null for another way
     * @return its cookie
     */
    private String begin(AdminRequest request, Operator operator, @Nullable String token) {
        byte[] bytes = new byte[ID_BYTES];
        random.nextBytes(bytes);
        String id = Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
        long now = nanoTime.getAsLong();
        synchronized (sessions) {
            if (sessions.size() >= MAX_SESSIONS) {
                sessions.remove(displacedBy(operator));
            }
            sessions.put(id, new BrowserSession(operator, token, now, now));
        }
        audit.record(operator.actor(request), AuditedChange.done("login", "", "", ""));
        return setCookie(request, id, times.maxAge().toSeconds());
    }

    /**
     * The session that ends for a new one: the operator's own oldest; else, of those with the least role, the oldest of
     * who has the most. So nobody ends the sessions of a higher role by logging in often.
     */
    private String displacedBy(Operator operator) {
        Map<Operator, Long> counts = sessions.values().stream()
                .collect(Collectors.groupingBy(BrowserSession::operator, Collectors.counting()));
        Operator displaced = counts.containsKey(operator)
                ? operator
                : counts.entrySet().stream()
                        .min(Comparator.comparing((Map.Entry<Operator, Long> each) ->
                                        each.getKey().role())
                                .thenComparing(each -> -each.getValue()))
                        .orElseThrow()
                        .getKey();
        return sessions.entrySet().stream()
                .filter(each -> each.getValue().operator().equals(displaced))
                .findFirst()
                .orElseThrow()
                .getKey();
    }

    private AdminResponse end(AdminRequest request) {
        requireConsole(request, true);
        String id = BrowserCookie.get(COOKIE, request);
        if (id != null) {
            BrowserSession ended;
            synchronized (sessions) {
                ended = sessions.remove(id);
            }
            if (ended != null) {
                audit.record(ended.operator().actor(request), AuditedChange.done("logout", "", "", ""));
            }
        }
        return AdminResponse.json(200, Map.of("session", false)).with("set-cookie", setCookie(request, "", 0));
    }

    private static String setCookie(AdminRequest request, String id, long seconds) {
        return BrowserCookie.set(COOKIE, request, id, seconds, "/", "Strict");
    }

    /** Cookies of the console (RFC 6265). Browsers send them to all ports of a host, which may be several gateways: so names have the port. */
    static final class BrowserCookie {
        private BrowserCookie() {}

        /** The value of a request's cookie; null if it has none. */
        static @Nullable String get(String name, AdminRequest request) {
            String prefix = atPort(name, request) + "=";
            for (String each : request.header().apply("cookie").split(";", -1)) {
                String pair = each.strip();
                if (pair.startsWith(prefix)) {
                    return pair.substring(prefix.length());
                }
            }
            return null;
        }

        /**
         * The value of {@code Set-Cookie}.
         *
         * @param seconds until it ends; 0 removes it
         * @param sameSite Strict or Lax
         */
        static String set(String name, AdminRequest request, String value, long seconds, String path, String sameSite) {
            return atPort(name, request) + "=" + value + "; Path=" + path + "; Max-Age=" + seconds
                    + "; HttpOnly; SameSite=" + sameSite + (request.secure() ? "; Secure" : "");
        }

        private static String atPort(String name, AdminRequest request) {
            String host = request.header().apply("host");
            String port = host.substring(host.lastIndexOf(':') + 1);
            return port.matches("[0-9]{1,5}") ? name + "-" + port : name;
        }
    }

    /**
     * The tokens of the admin address. Their files are read for each request that needs one, so that a file and its
     * permissions can be changed at any time.
     */
    static final class AdminTokens {
        private static final String SCHEME = "Bearer ";
        private static final int MAX_BYTES = 4096;

        /** Those of the least role first, so that it holds if two files have the same token. */
        private final List<TokenFile> files;

        /** @param key of the configuration */
        private record TokenFile(Operator operator, Path file, String key) {}

        AdminTokens(AdminConfig config) {
            List<TokenFile> all = new ArrayList<>();
            if (config.tokenFile() != null) {
                all.add(new TokenFile(
                        new Operator(AdminConfig.ADMIN, AdminRole.ADMIN, ""), config.tokenFile(), "admin.token_file"));
            }
            config.tokens()
                    .forEach((name, token) -> all.add(new TokenFile(
                            new Operator(name, token.role(), ""), token.file(), "admin.tokens." + name + ".file")));
            all.sort(Comparator.comparing((TokenFile each) -> each.operator().role())
                    .thenComparing(each -> each.operator().name()));
            files = List.copyOf(all);
        }

        boolean areConfigured() {
            return !files.isEmpty();
        }

        /** @throws OipException PERMISSION_DENIED if there is no token, so that nothing that needs one is possible */
        void requireConfigured() {
            if (files.isEmpty()) {
                throw new OipException(
                        ErrorCode.PERMISSION_DENIED,
                        "changes and diagnosis are disabled: admin.token_file is not configured; set it to a file with the"
                                + " token that they require");
            }
        }

        /**
         * The token of a header field {@code Authorization}.
         *
         * @throws OipException UNAUTHENTICATED if it has none
         */
        static String bearer(String authorization) {
            if (!authorization.regionMatches(true, 0, SCHEME, 0, SCHEME.length())) {
                throw new OipException(
                        ErrorCode.UNAUTHENTICATED, "header Authorization: 'Bearer' followed by the token is expected");
            }
            return authorization.substring(SCHEME.length()).strip();
        }

        /**
         * Whose token this is; null if it is nobody's. Reads files, and takes the same time for every wrong one.
         *
         * @throws OipException UNAVAILABLE if it is not in the files that can be used, and one cannot be used
         */
        @Nullable
        Operator holder(String given) {
            Operator found = null;
            OipException unusable = null;
            for (TokenFile each : files) {
                try {
                    boolean same = is(each, given);
                    found = same && found == null ? each.operator() : found;
                } catch (OipException e) {
                    unusable = e;
                }
            }
            if (found == null && unusable != null) {
                throw unusable;
            }
            return found;
        }

        /** Whether this is still an operator's token. As {@link #holder}. */
        boolean holds(Operator operator, String given) {
            return files.stream().anyMatch(each -> each.operator().equals(operator) && is(each, given));
        }

        private static boolean is(TokenFile token, String given) {
            return MessageDigest.isEqual(read(token), given.getBytes(StandardCharsets.ISO_8859_1));
        }

        private static byte[] read(TokenFile token) {
            try (InputStream in = Files.newInputStream(token.file())) {
                String exposure = SecretFile.exposure(token.file());
                if (exposure != null) {
                    throw new OipException(ErrorCode.UNAVAILABLE, "the file " + token.key() + " " + exposure);
                }
                String text = new String(in.readNBytes(MAX_BYTES), StandardCharsets.ISO_8859_1).strip();
                if (text.isEmpty()) {
                    throw new OipException(ErrorCode.UNAVAILABLE, "the file " + token.key() + " is empty");
                }
                return text.getBytes(StandardCharsets.ISO_8859_1);
            } catch (IOException e) {
                throw new OipException(ErrorCode.UNAVAILABLE, "the file " + token.key() + " cannot be read", e);
            }
        }
    }
}
