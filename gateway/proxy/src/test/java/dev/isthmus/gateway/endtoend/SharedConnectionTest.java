package dev.isthmus.gateway.endtoend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.flow.ProxyServer;
import dev.isthmus.gateway.ramp.RampReport;
import dev.isthmus.gateway.settings.TestAuthority;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The connection to a real Redis: TLS, users with few rights. */
class SharedConnectionTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final Path SAMPLE = Path.of(System.getProperty("isthmus.root", ".."))
            .resolve("local-backend/src/main/resources/models/digits/sample.json");

    @TempDir
    static Path folder = Path.of(".");

    private static RedisServer redis;
    private static RedisTls tls;

    @BeforeAll
    static void start() throws Exception {
        tls = new RedisTls(folder);
        redis = RedisServer.secure(folder, tls, List.of(), "--loglevel", "verbose");
        RedisTls.password(folder.resolve("password"), RedisTls.PASSWORD);
    }

    @AfterAll
    static void stop() {
        redis.close();
    }

    private static ProxyServer gateway(Path ca) throws Exception {
        return ProxyServer.start("""
                listeners: [{port: 0}]
                local: {embedded_models: true}
                shared:
                  url: rediss://localhost:%d/2
                  user: isthmus
                  password_file: "%s"
                  ca: "%s"
                  timeout: 10s
                  on_failure: closed
                models:
                  digits:
                    targets: [{name: old, upstream: local, weight: 1}, {name: new, upstream: local, version: "1"}]
                    ramp: {target: new, steps: [40%%, 100%%]}
                    rates: [{requests_per_second: 10}]
                """.formatted(redis.port(), folder.resolve("password"), ca));
    }

    private static int status(ProxyServer gateway) throws Exception {
        try (HttpClient client = HttpClient.newHttpClient()) {
            URI uri = URI.create("http://" + gateway.address() + "/v2/models/digits/infer");
            HttpRequest request = HttpRequest.newBuilder(uri)
                    .POST(BodyPublishers.ofFile(SAMPLE))
                    .build();
            return client.send(request, BodyHandlers.discarding()).statusCode();
        }
    }

    @Test
    void userWithTheDocumentedRights_overTls_sharesAll() throws Exception {
        try (ProxyServer gateway = gateway(tls.ca())) {
            await().atMost(PATIENCE)
                    .until(() -> gateway.ramps().reports().getFirst().share() == 0.4);
            gateway.ramps().rollBack("digits");
            gateway.ramps().restart("digits");
            assertThat(gateway.ramps().reports()).singleElement().returns(0.4, RampReport::share);
            assertThat(status(gateway)).isEqualTo(200);
        }
    }

    @Test
    void serverOfAnotherAuthority_isNotTrusted() throws Exception {
        TestAuthority other = new TestAuthority(Files.createDirectory(folder.resolve("other")), "ca");
        try (ProxyServer gateway = gateway(other.ca())) {
            await().atMost(PATIENCE)
                    .until(() -> Files.readString(folder.resolve("redis.log"))
                            .contains("Error accepting a client connection"));
            assertThat(gateway.meters().get("isthmus.shared.up").gauge().value())
                    .isZero();
            assertThat(status(gateway)).isEqualTo(503);
        }
    }
}
