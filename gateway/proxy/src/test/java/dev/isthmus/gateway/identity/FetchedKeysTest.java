package dev.isthmus.gateway.identity;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.sun.net.httpserver.HttpServer;
import dev.isthmus.gateway.settings.AuthenticationConfig.JwtAlgorithm;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class FetchedKeysTest {
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private final ScheduledExecutorService worker = Executors.newSingleThreadScheduledExecutor();
    private final AtomicInteger requests = new AtomicInteger();
    private final List<Boolean> reloads = new CopyOnWriteArrayList<>();
    private volatile int status = 200;
    private volatile String body = new TestIssuer("").keys();
    private HttpServer server;

    @BeforeEach
    void start() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", exchange -> {
            requests.incrementAndGet();
            byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(status, bytes.length);
            exchange.getResponseBody().write(bytes);
            exchange.close();
        });
        server.start();
    }

    @AfterEach
    void stop() {
        worker.shutdownNow();
        server.stop(0);
    }

    private FetchedKeys fetched(Duration refresh) {
        String url = "http://127.0.0.1:" + server.getAddress().getPort() + "/keys";
        return new FetchedKeys(url, refresh, worker, reloads::add);
    }

    private static boolean has(FetchedKeys keys, String id) {
        SigningKeys current = keys.current();
        return current != null && !current.candidates(id, JwtAlgorithm.RS256).isEmpty();
    }

    @Test
    void keys_areFetchedAtStartAndAgain() {
        try (FetchedKeys keys = fetched(Duration.ofMillis(50))) {
            await().atMost(PATIENCE).until(() -> has(keys, "rsa"));
            body = new TestIssuer("-2").keys();
            await().atMost(PATIENCE).until(() -> has(keys, "rsa-2"));
            assertThat(has(keys, "rsa")).isFalse();
        }
    }

    @Test
    void failure_leavesTheLastKeys_andIsRepeated() {
        try (FetchedKeys keys = fetched(Duration.ofMillis(50))) {
            await().atMost(PATIENCE).until(() -> has(keys, "rsa"));
            status = 500;
            await().atMost(PATIENCE).until(() -> reloads.contains(false));
            assertThat(has(keys, "rsa")).isTrue();
            status = 200;
            body = new TestIssuer("-3").keys();
            await().atMost(PATIENCE).until(() -> has(keys, "rsa-3"));
        }
    }

    @Test
    void tooLargeOrInvalidSet_isRefused() {
        body = "{\"keys\":[]}" + " ".repeat(2 << 20);
        try (FetchedKeys keys = fetched(Duration.ofMinutes(1))) {
            await().atMost(PATIENCE).until(() -> reloads.contains(false));
            assertThat(keys.current()).isNull();
        }
    }

    @Test
    void unknownKey_fetchesOnce() {
        try (FetchedKeys keys = fetched(Duration.ofHours(1))) {
            await().atMost(PATIENCE).until(() -> reloads.contains(true));
            // The first fetch has just ended: no other one for 10 s.
            assertThat(keys.refreshes()).isFalse();
            assertThat(requests).hasValue(1);
        }
    }
}
