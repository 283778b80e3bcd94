package dev.isthmus.gateway.net;

import java.io.IOException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandler;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.HttpTimeoutException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/**
 * Requests of the JDK's HTTP client with a limited response. The client itself limits the size of the head and the time
 * until it arrives; a body may be endless, or never end.
 */
public final class LimitedExchange {
    private LimitedExchange() {}

    /**
     * A client of HTTP/1.1 that follows no redirect.
     *
     * @param tls whom it trusts; null for the authorities of the JVM
     */
    public static HttpClient.Builder client(@Nullable SSLContext tls, Duration connectTimeout) {
        HttpClient.Builder builder = HttpClient.newBuilder()
                .connectTimeout(connectTimeout)
                .followRedirects(HttpClient.Redirect.NEVER)
                .version(HttpClient.Version.HTTP_1_1);
        return tls == null ? builder : builder.sslContext(tls);
    }

    /**
     * Sends a request. Fails if the body is longer than a size, or not complete after a time. Completes on any thread.
     */
    public static <T> CompletableFuture<HttpResponse<T>> sendAsync(
            HttpClient client, HttpRequest request, BodyHandler<T> body, long maxBytes, Duration limit) {
        CompletableFuture<HttpResponse<T>> exchange = client.sendAsync(request, BodyHandlers.limiting(body, maxBytes));
        return exchange.copy().orTimeout(limit.toNanos(), TimeUnit.NANOSECONDS).whenComplete((response, failure) -> {
            if (failure instanceof TimeoutException) {
                exchange.cancel(true);
            }
        });
    }

    /** The same, blocking. */
    public static <T> HttpResponse<T> send(
            HttpClient client, HttpRequest request, BodyHandler<T> body, long maxBytes, Duration limit)
            throws IOException, InterruptedException {
        CompletableFuture<HttpResponse<T>> exchange = client.sendAsync(request, BodyHandlers.limiting(body, maxBytes));
        try {
            return exchange.get(limit.toNanos(), TimeUnit.NANOSECONDS);
        } catch (ExecutionException e) {
            throw e.getCause() instanceof IOException failure ? failure : new IOException(e.getCause());
        } catch (TimeoutException e) {
            throw new HttpTimeoutException("no complete response in " + limit.toMillis() + " ms");
        } finally {
            exchange.cancel(true);
        }
    }
}
