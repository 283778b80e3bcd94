package dev.isthmus.gateway.identity;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.ClientCertificate;
import dev.isthmus.gateway.call.Principal;
import dev.isthmus.gateway.identity.JwtVerifier.SigningKeySource;
import dev.isthmus.gateway.identity.JwtVerifier.TokenIssuer;
import dev.isthmus.gateway.metrics.AccessMetrics;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.gateway.settings.AccessConfig.IdentifiedBy;
import dev.isthmus.gateway.settings.ApiKeyFile;
import dev.isthmus.gateway.settings.AuthenticationConfig;
import dev.isthmus.gateway.settings.AuthenticationConfig.ApiKeyConfig;
import dev.isthmus.gateway.settings.AuthenticationConfig.CertificateConfig;
import dev.isthmus.gateway.settings.AuthenticationConfig.CertificateName;
import dev.isthmus.gateway.settings.AuthenticationConfig.JwtConfig;
import dev.isthmus.gateway.settings.ConfigException;
import dev.isthmus.oip.OipException;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import javax.naming.InvalidNameException;
import javax.naming.ldap.LdapName;
import javax.naming.ldap.Rdn;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Identifies callers, by the ways of one section {@code authentication}. Reads keys again when they change, on
 * threads of its own, until it is closed. Thread-safe; never blocks after its start.
 */
public final class Authenticator implements AutoCloseable {
    private static final String AUTHORIZATION = "authorization";
    private static final String BEARER = "bearer ";
    /** A changed file is read after two checks. */
    private static final int CHECK_MILLIS = 500;

    private final AuthenticationConfig config;
    private final AccessMetrics metrics;
    private final ScheduledExecutorService worker;
    private final @Nullable ReloadedFile<ApiKeys> keys;
    private final @Nullable JwtVerifier tokens;
    private final @Nullable CertificateCallers certificates;

    /**
     * Starts with the keys in the configured files. Blocks; keys of a URL are fetched later.
     *
     * @param clock decides whether tokens have expired
     * @throws ConfigException if a file cannot be used
     */
    public Authenticator(AuthenticationConfig config, AccessMetrics metrics, InstantSource clock)
            throws ConfigException {
        this.config = config;
        this.metrics = metrics;
        // One for files, and one for each issuer, which may take as long as it likes to fail.
        this.worker = Executors.newScheduledThreadPool(
                1 + config.jwt().size(), new DefaultThreadFactory("isthmus-credentials", true));
        metrics.expect(Arrays.stream(CredentialFailure.values()).map(CredentialFailure::label));
        ApiKeyConfig apiKeys = config.apiKeys();
        CertificateConfig named = config.clientCertificates();
        try {
            keys = apiKeys == null
                    ? null
                    : watched(apiKeys.file(), file -> new ApiKeys(ApiKeyFile.read(file)), "api_keys");
            certificates = named == null ? null : new CertificateCallers(named.name());
            List<TokenIssuer> issuers = new ArrayList<>();
            for (JwtConfig jwt : config.jwt()) {
                issuers.add(new TokenIssuer(jwt, signingKeys(jwt)));
            }
            tokens = issuers.isEmpty() ? null : new JwtVerifier(issuers, clock, System::nanoTime);
        } catch (ConfigException e) {
            worker.shutdownNow();
            throw e;
        }
    }

    /**
     * The authenticator of a section: the previous one, with the keys that it has, if the section is the same. Blocks.
     *
     * @throws ConfigException if a file with keys cannot be used
     */
    public static @Nullable Authenticator renewed(
            @Nullable Authenticator previous, @Nullable AuthenticationConfig config, AccessMetrics metrics)
            throws ConfigException {
        if (config == null) {
            return null;
        }
        return previous != null && previous.config.equals(config)
                ? previous
                : new Authenticator(config, metrics, InstantSource.system());
    }

    public static void closeUnless(@Nullable Authenticator used, @Nullable Authenticator closed) {
        if (closed != null && closed != used) {
            closed.close();
        }
    }

    private SigningKeySource signingKeys(JwtConfig jwt) throws ConfigException {
        String url = jwt.jwksUrl();
        if (url != null) {
            return new FetchedKeys(
                    url, jwt.jwksCa(), jwt.refresh(), worker, applied -> metrics.reloaded("jwks", applied));
        }
        return watched(Objects.requireNonNull(jwt.jwksFile()), Authenticator::readKeys, "jwks")::current;
    }

    private <T> ReloadedFile<T> watched(Path file, ReloadedFile.FileReader<T> reader, String source)
            throws ConfigException {
        ReloadedFile<T> watched = new ReloadedFile<>(file, reader, applied -> metrics.reloaded(source, applied));
        worker.scheduleWithFixedDelay(watched::check, CHECK_MILLIS, CHECK_MILLIS, TimeUnit.MILLISECONDS);
        return watched;
    }

    private static SigningKeys readKeys(Path file) throws ConfigException {
        try {
            return SigningKeys.parse(file.toString(), Files.readString(file));
        } catch (IOException e) {
            throw new ConfigException(List.of(file + " cannot be read"));
        }
    }

    public AuthenticationConfig config() {
        return config;
    }

    /**
     * Identifies the caller of a request; its context says who it is afterwards.
     *
     * @param required whether a request without a credential is refused
     * @throws OipException UNAUTHENTICATED, or UNAVAILABLE if the issuer's keys are not known yet
     */
    public void identify(CallContext call, boolean required) {
        try {
            Principal caller = caller(call);
            if (caller == null && required) {
                throw new CredentialException(CredentialFailure.MISSING);
            }
            call.authenticated(caller == null ? Principal.ANONYMOUS : caller);
        } catch (CredentialException e) {
            metrics.refused(e.failure().label());
            throw e.failure().refusal();
        }
    }

    /** The caller by the first credential that is sent; null if there is none. */
    private @Nullable Principal caller(CallContext call) throws CredentialException {
        if (keys != null && config.apiKeys() != null) {
            String key = call.headers().value(config.apiKeys().header());
            if (key != null) {
                return byKey(keys, key);
            }
        }
        if (keys != null || tokens != null) {
            String token = bearer(call.headers().value(AUTHORIZATION));
            if (token != null) {
                return byToken(token, call);
            }
        }
        ClientCertificate certificate = certificates == null || call.connection() == null
                ? null
                : call.connection().certificate();
        return certificate == null || certificates == null ? null : certificates.caller(certificate);
    }

    private static @Nullable String bearer(@Nullable String authorization) {
        return authorization != null && authorization.regionMatches(true, 0, BEARER, 0, BEARER.length())
                ? authorization.substring(BEARER.length()).strip()
                : null;
    }

    private Principal byToken(String token, CallContext call) throws CredentialException {
        if (tokens != null && (keys == null || isJwt(token))) {
            return tokens.verify(token, call.peer());
        }
        if (keys == null) {
            throw new CredentialException(CredentialFailure.MALFORMED);
        }
        return byKey(keys, token);
    }

    /** Keys that {@code isthmus key} makes have no dots, tokens two. */
    private static boolean isJwt(String token) {
        int first = token.indexOf('.');
        return first > 0 && token.indexOf('.', first + 1) > 0;
    }

    private static Principal byKey(ReloadedFile<ApiKeys> keys, String key) throws CredentialException {
        Principal caller = keys.current().find(key);
        if (caller == null) {
            throw new CredentialException(CredentialFailure.UNKNOWN_KEY);
        }
        return caller;
    }

    /** Stops reading keys again. Those read last stay in effect for calls that are under way. */
    @Override
    public void close() {
        worker.shutdownNow();
    }

    /** The callers by the SHA-256 of their API keys. Immutable. */
    static final class ApiKeys {
        private final Map<Sha256Digest, Principal> callers;

        /** @param entries the keys of one name become one caller */
        ApiKeys(List<ApiKeyFile.ApiKeyEntry> entries) {
            Map<String, Principal> named = new HashMap<>();
            Map<Sha256Digest, Principal> keys = new HashMap<>();
            for (ApiKeyFile.ApiKeyEntry entry : entries) {
                Principal caller = named.computeIfAbsent(
                        entry.name(), name -> new Principal(name, entry.groups(), Map.of(), IdentifiedBy.API_KEY));
                keys.put(Sha256Digest.fromBytes(HexFormat.of().parseHex(entry.sha256())), caller);
            }
            callers = Map.copyOf(keys);
        }

        /** The caller with this key; null if there is none. */
        @Nullable
        Principal find(String key) {
            return callers.get(Sha256Digest.of(key));
        }
    }

    /** The callers that client certificates name. Thread-safe. */
    static final class CertificateCallers {
        private final CertificateName part;
        /** By the certificate of a connection, by identity. */
        private final Cache<ClientCertificate, Principal> callers =
                Caffeine.newBuilder().weakKeys().executor(Runnable::run).build();

        CertificateCallers(CertificateName part) {
            this.part = part;
        }

        /** The caller with this certificate, which its listener has verified. */
        Principal caller(ClientCertificate certificate) throws CredentialException {
            Principal known = callers.getIfPresent(certificate);
            if (known != null) {
                return known;
            }
            String name = name(certificate);
            if (name == null || name.isBlank()) {
                throw new CredentialException(CredentialFailure.NO_NAME);
            }
            Set<String> sans = new HashSet<>(certificate.dnsNames());
            sans.addAll(certificate.uris());
            sans.addAll(certificate.emails());
            Principal caller =
                    new Principal(name, Set.of(), Map.of(Principal.SANS, Set.copyOf(sans)), IdentifiedBy.CERTIFICATE);
            callers.put(certificate, caller);
            return caller;
        }

        private @Nullable String name(ClientCertificate certificate) {
            return switch (part) {
                case CN -> commonName(certificate.subject());
                case DNS -> first(certificate.dnsNames());
                case URI -> first(certificate.uris());
                case EMAIL -> first(certificate.emails());
            };
        }

        private static @Nullable String first(List<String> names) {
            return names.isEmpty() ? null : names.getFirst();
        }

        /** The most specific common name. */
        private static @Nullable String commonName(String subject) {
            try {
                for (Rdn each : new LdapName(subject).getRdns().reversed()) {
                    if (each.getType().equalsIgnoreCase("CN") && each.getValue() instanceof String name) {
                        return name;
                    }
                }
                return null;
            } catch (InvalidNameException e) {
                return null;
            }
        }
    }

    /**
     * An issuer's keys from its URL: fetched at start, from time to time, and, at most every 10 s, when a token names an
     * unknown key. After a failure the last good keys stay in effect and the next try follows after a back-off.
     */
    static final class FetchedKeys implements SigningKeySource {
        private static final Logger LOG = LoggerFactory.getLogger(FetchedKeys.class);
        private static final Duration BETWEEN_FETCHES = Duration.ofSeconds(10);
        private static final Duration FIRST_BACKOFF = Duration.ofSeconds(1);
        private static final Duration MAX_BACKOFF = Duration.ofMinutes(1);

        private final String url;
        private final IssuerHttp http;
        private final Duration refresh;
        private final ScheduledExecutorService worker;
        private final Consumer<Boolean> listener;
        private volatile @Nullable SigningKeys current;

        // Guarded by this.
        private @Nullable ScheduledFuture<?> due;
        private boolean fetching = true;
        private long lastNanos = System.nanoTime();
        private Duration backoff = FIRST_BACKOFF;

        /**
         * Starts to fetch, until the worker is shut down.
         *
         * @param ca file with the trusted authorities; null for those of the Java runtime
         * @param worker has a thread that may block
         */
        FetchedKeys(
                String url,
                @Nullable Path ca,
                Duration refresh,
                ScheduledExecutorService worker,
                Consumer<Boolean> listener) {
            this.url = url;
            this.http = new IssuerHttp("the issuer", ca, "jwks_ca");
            this.refresh = refresh;
            this.worker = worker;
            this.listener = listener;
            worker.execute(this::fetch);
        }

        @Override
        public @Nullable SigningKeys current() {
            return current;
        }

        @Override
        public synchronized boolean refreshes() {
            if (fetching) {
                return true;
            }
            if (System.nanoTime() - lastNanos < BETWEEN_FETCHES.toNanos()) {
                return false;
            }
            fetching = true;
            return schedule(Duration.ZERO);
        }

        private void fetch() {
            synchronized (this) {
                fetching = true;
            }
            boolean applied = false;
            try {
                current = SigningKeys.parse(url, http.get(url).requireOk());
                applied = true;
            } catch (ConfigException e) {
                warn(String.join("; ", e.problems()));
            } catch (RuntimeException e) {
                // Not only of the issuer: a client needs descriptors of files, which may be used up.
                if (Thread.currentThread().isInterrupted()) {
                    return;
                }
                warn(e instanceof OipException known ? known.message() : e.toString());
            }
            listener.accept(applied);
            fetched(applied);
        }

        private void warn(String why) {
            RepeatingLogEvent.warn(LOG)
                    .addKeyValue("file", url)
                    .log("keys of tokens: the last good ones stay in effect; check the issuer: {}", why);
        }

        private synchronized void fetched(boolean applied) {
            fetching = false;
            lastNanos = System.nanoTime();
            schedule(applied ? refresh : backoff);
            Duration doubled = backoff.multipliedBy(2);
            backoff = applied ? FIRST_BACKOFF : doubled.compareTo(MAX_BACKOFF) > 0 ? MAX_BACKOFF : doubled;
        }

        /** Replaces a fetch that is due later: there is one at a time. False if there are to be no more. */
        private synchronized boolean schedule(Duration wait) {
            if (due != null) {
                due.cancel(false);
            }
            try {
                due = worker.schedule(this::fetch, wait.toMillis(), TimeUnit.MILLISECONDS);
                return true;
            } catch (RejectedExecutionException closed) {
                LOG.debug("keys of tokens are not fetched any more");
                return false;
            }
        }
    }
}
