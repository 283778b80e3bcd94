package dev.isthmus.gateway.net;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.HttpTimeoutException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class LimitedExchangeTest {
    private static final long PATIENCE_SECONDS = 30;
    private static final long LIMIT = 1000;
    private static final Duration LONG = Duration.ofMinutes(5);
    private static final Duration SHORT = Duration.ofMillis(200);

    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final HttpClient client = HttpClient.newHttpClient();
    private final CountDownLatch closedByClient = new CountDownLatch(1);
    private HttpServer server;

    @BeforeEach
    void start() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(threads);
        server.createContext("/short", exchange -> {
            exchange.sendResponseHeaders(200, LIMIT);
            exchange.getResponseBody().write(new byte[(int) LIMIT]);
            exchange.close();
        });
        server.createContext("/endless", exchange -> {
            exchange.sendResponseHeaders(200, 0);
            try (OutputStream body = exchange.getResponseBody()) {
                while (true) {
                    body.write(new byte[100]);
                }
            } catch (IOException closed) {
                closedByClient.countDown();
            }
        });
        server.createContext("/stops", exchange -> {
            exchange.sendResponseHeaders(200, LIMIT);
            exchange.getResponseBody().write(1);
            exchange.getResponseBody().flush();
        });
        server.start();
    }

    @AfterEach
    void stop() {
        client.shutdownNow();
        server.stop(0);
        threads.shutdownNow();
    }

    private HttpRequest request(String path) {
        return HttpRequest.newBuilder(
                        URI.create("http://127.0.0.1:" + server.getAddress().getPort() + path))
                .build();
    }

    @Test
    void bodyOfTheLimit_arrives() throws Exception {
        HttpResponse<byte[]> response =
                LimitedExchange.send(client, request("/short"), BodyHandlers.ofByteArray(), LIMIT, LONG);
        assertThat(response.body()).hasSize((int) LIMIT);
        assertThat(LimitedExchange.sendAsync(client, request("/short"), BodyHandlers.discarding(), LIMIT, LONG)
                        .get(PATIENCE_SECONDS, TimeUnit.SECONDS)
                        .statusCode())
                .isEqualTo(200);
    }

    @Test
    void endlessBody_isClosed() throws Exception {
        assertThatThrownBy(
                        () -> LimitedExchange.send(client, request("/endless"), BodyHandlers.discarding(), LIMIT, LONG))
                .isInstanceOf(IOException.class)
                .isNotInstanceOf(HttpTimeoutException.class)
                .satisfies(failure -> assertThat(FailureReason.of(failure))
                        .isEqualTo("a response of at most 1000 bytes is expected, got a longer one"));
        assertThat(closedByClient.await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void bodyThatStops_isGivenUp() {
        assertThatThrownBy(
                        () -> LimitedExchange.send(client, request("/stops"), BodyHandlers.ofByteArray(), LIMIT, SHORT))
                .isInstanceOf(HttpTimeoutException.class)
                .hasMessage("no complete response in 200 ms");
        CompletableFuture<?> later =
                LimitedExchange.sendAsync(client, request("/stops"), BodyHandlers.discarding(), LIMIT, SHORT);
        assertThatThrownBy(() -> later.get(PATIENCE_SECONDS, TimeUnit.SECONDS))
                .isInstanceOf(ExecutionException.class)
                .hasCauseInstanceOf(TimeoutException.class);
        // Waits for what is under way: nothing is.
        client.close();
    }
}
