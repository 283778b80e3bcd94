package dev.isthmus.gateway.identity;

import dev.isthmus.gateway.net.FailureReason;
import dev.isthmus.gateway.net.LimitedExchange;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.gateway.settings.ConfigException;
import dev.isthmus.gateway.settings.TlsFileException;
import dev.isthmus.gateway.settings.TlsFiles;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An issuer's keys from its URL: fetched at start, from time to time, and, at most every 10 s, when a token names an
 * unknown key. After a failure the last good keys stay in effect and the next try follows after a back-off.
 */
final class FetchedKeys implements SigningKeySource {
    private static final Logger LOG = LoggerFactory.getLogger(FetchedKeys.class);
    private static final Duration TIMEOUT = Duration.ofSeconds(10);
    private static final Duration BETWEEN_FETCHES = Duration.ofSeconds(10);
    private static final Duration FIRST_BACKOFF = Duration.ofSeconds(1);
    private static final Duration MAX_BACKOFF = Duration.ofMinutes(1);
    private static final long MAX_SIZE = 1 << 20;
    private static final int OK = 200;

    private final URI url;
    private final @Nullable Path ca;
    private final Duration refresh;
    private final ScheduledExecutorService worker;
    private final ReloadedFile.ReloadListener listener;
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
     * @param worker one thread that may block
     */
    FetchedKeys(
            String url,
            @Nullable Path ca,
            Duration refresh,
            ScheduledExecutorService worker,
            ReloadedFile.ReloadListener listener) {
        this.url = URI.create(url);
        this.ca = ca;
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
        try (HttpClient client = client()) {
            HttpRequest request = HttpRequest.newBuilder(url)
                    .timeout(TIMEOUT)
                    .header("accept", "application/jwk-set+json, application/json")
                    .build();
            HttpResponse<byte[]> response =
                    LimitedExchange.send(client, request, HttpResponse.BodyHandlers.ofByteArray(), MAX_SIZE, TIMEOUT);
            if (response.statusCode() != OK) {
                throw new ConfigException(List.of(url + ": status 200 is expected, got " + response.statusCode()));
            }
            current = SigningKeys.parse(url.toString(), new String(response.body(), StandardCharsets.UTF_8));
            applied = true;
        } catch (TlsFileException e) {
            warn("jwks_ca: " + e.getMessage());
        } catch (ConfigException e) {
            warn(String.join("; ", e.problems()));
        } catch (IOException e) {
            warn(url + ": " + FailureReason.of(e));
        } catch (InterruptedException closed) {
            Thread.currentThread().interrupt();
            return;
        }
        listener.reloaded(applied);
        fetched(applied);
    }

    private void warn(String why) {
        LOG.atWarn()
                .addMarker(RepeatingLogEvent.MARKER)
                .addKeyValue("file", url)
                .log("keys of tokens: the last good ones stay in effect; check the issuer: {}", why);
    }

    /** One for each fetch, so that a changed file of authorities is used. */
    private HttpClient client() {
        return LimitedExchange.client(ca == null ? null : TlsFiles.trusting(ca), TIMEOUT)
                .build();
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
