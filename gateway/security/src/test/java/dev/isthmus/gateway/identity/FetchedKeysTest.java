package dev.isthmus.gateway.identity;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.nimbusds.jose.JWSAlgorithm;
import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import dev.isthmus.gateway.identity.Authenticator.FetchedKeys;
import dev.isthmus.gateway.settings.TestAuthority;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FetchedKeysTest {
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    /** Once, as it takes a second to make them. */
    private static final String KEYS = new TestIssuer("").keys();

    private final ScheduledExecutorService worker = Executors.newSingleThreadScheduledExecutor();
    private final AtomicInteger requests = new AtomicInteger();
    private final List<Boolean> reloads = new CopyOnWriteArrayList<>();
    private volatile int status = 200;
    private volatile String body = KEYS;
    private HttpServer server;

    @BeforeEach
    void start() throws IOException {
        serve(HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0));
    }

    private void serve(HttpServer made) {
        server = made;
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
        return new FetchedKeys(url, null, refresh, worker, reloads::add);
    }

    private FetchedKeys fetchedOverTls(Path ca, TestAuthority.Issued certificate) throws Exception {
        server.stop(0);
        HttpsServer made = HttpsServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        made.setHttpsConfigurator(new HttpsConfigurator(certificate.server()));
        serve(made);
        String url = "https://127.0.0.1:" + server.getAddress().getPort() + "/keys";
        return new FetchedKeys(url, ca, Duration.ofMillis(50), worker, reloads::add);
    }

    @Test
    void privateAuthority_isTrusted_andReadForEachFetch(@TempDir Path folder) throws Exception {
        TestAuthority stranger = new TestAuthority(folder, "stranger");
        TestAuthority own = new TestAuthority(folder, "own");
        FetchedKeys keys = fetchedOverTls(stranger.ca(), own.issue("server", "127.0.0.1"));
        await().atMost(PATIENCE).until(() -> reloads.contains(false));
        assertThat(keys.current()).isNull();
        Files.writeString(stranger.ca(), "no certificate");
        await().atMost(PATIENCE).until(() -> reloads.size() > 1);
        Files.copy(own.ca(), stranger.ca(), StandardCopyOption.REPLACE_EXISTING);
        await().atMost(PATIENCE).until(() -> has(keys, "rsa"));
    }

    @Test
    void certificateOfAnotherHost_isRefused(@TempDir Path folder) throws Exception {
        TestAuthority own = new TestAuthority(folder, "own");
        FetchedKeys keys = fetchedOverTls(own.ca(), own.issue("server", "issuer.example"));
        await().atMost(PATIENCE).until(() -> reloads.contains(false));
        assertThat(keys.current()).isNull();
    }

    private static boolean has(FetchedKeys keys, String id) {
        SigningKeys current = keys.current();
        return current != null && !current.candidates(id, JWSAlgorithm.RS256).isEmpty();
    }

    @Test
    void keys_areFetchedAtStartAndAgain() {
        FetchedKeys keys = fetched(Duration.ofMillis(50));
        await().atMost(PATIENCE).until(() -> has(keys, "rsa"));
        body = new TestIssuer("-2").keys();
        await().atMost(PATIENCE).until(() -> has(keys, "rsa-2"));
        assertThat(has(keys, "rsa")).isFalse();
    }

    @Test
    void failure_leavesTheLastKeys_andIsRepeated() {
        FetchedKeys keys = fetched(Duration.ofMillis(50));
        await().atMost(PATIENCE).until(() -> has(keys, "rsa"));
        status = 500;
        await().atMost(PATIENCE).until(() -> reloads.contains(false));
        assertThat(has(keys, "rsa")).isTrue();
        status = 200;
        body = new TestIssuer("-3").keys();
        await().atMost(PATIENCE).until(() -> has(keys, "rsa-3"));
    }

    @Test
    void tooLargeOrInvalidSet_isRefused() {
        body = "{\"keys\":[]}" + " ".repeat(2 << 20);
        FetchedKeys keys = fetched(Duration.ofMinutes(1));
        await().atMost(PATIENCE).until(() -> reloads.contains(false));
        assertThat(keys.current()).isNull();
    }

    @Test
    void endlessSet_isRefused() {
        server.createContext("/endless", exchange -> {
            exchange.sendResponseHeaders(200, 0);
            try (exchange) {
                while (true) {
                    exchange.getResponseBody().write(new byte[1 << 16]);
                }
            }
        });
        String url = "http://127.0.0.1:" + server.getAddress().getPort() + "/endless";
        FetchedKeys keys = new FetchedKeys(url, null, Duration.ofMinutes(1), worker, reloads::add);
        await().atMost(PATIENCE).until(() -> reloads.contains(false));
        assertThat(keys.current()).isNull();
    }

    @Test
    void anyException_isAFailureThatIsTriedAgain() {
        FetchedKeys keys = new FetchedKeys("http://[", null, Duration.ofMinutes(1), worker, reloads::add);
        await().atMost(PATIENCE).until(() -> reloads.size() > 1);
        assertThat(reloads).doesNotContain(true);
        assertThat(keys.current()).isNull();
    }

    @Test
    void unknownKey_fetchesOnce() {
        FetchedKeys keys = fetched(Duration.ofHours(1));
        await().atMost(PATIENCE).until(() -> reloads.contains(true));
        // The first fetch has just ended: no other one for 10 s.
        assertThat(keys.refreshes()).isFalse();
        assertThat(requests).hasValue(1);
    }
}
