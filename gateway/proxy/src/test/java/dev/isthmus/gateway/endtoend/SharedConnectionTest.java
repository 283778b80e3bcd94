package dev.isthmus.gateway.endtoend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.flow.ProxyServer;
import dev.isthmus.gateway.ramp.RampReport;
import dev.isthmus.gateway.settings.TestAuthority;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The connection to a real Redis: TLS, certificates of clients, users with few rights. */
class SharedConnectionTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final Path SAMPLE = Path.of(System.getProperty("isthmus.root", ".."))
            .resolve("local-backend/src/main/resources/models/digits/sample.json");
    /** What the server logs of a client that it refuses, or that refuses it. */
    private static final String REFUSED = "Error accepting a client connection";

    private static final String LIMITED = """
              on_failure: closed
            models:
              digits:
                targets: [{name: old, upstream: local, weight: 1}, {name: new, upstream: local, version: "1"}]
                ramp: {target: new, steps: [40%, 100%]}
                rates: [{requests_per_second: 10}]
            """;

    @TempDir
    static Path folder = Path.of(".");

    private static SecureRedis redis;
    /** Refuses clients without a certificate. */
    private static SecureRedis mutual;

    /** A server with its certificates, and its log. */
    private record SecureRedis(Path folder, RedisTls tls, RedisServer server) {
        static SecureRedis start(Path folder, RedisTls tls) throws Exception {
            return new SecureRedis(folder, tls, RedisServer.secure(folder, tls, List.of(), "--loglevel", "verbose"));
        }

        /** How many clients it has refused. */
        long refused() throws IOException {
            return Files.readString(folder.resolve("redis.log"))
                    .lines()
                    .filter(line -> line.contains(REFUSED))
                    .count();
        }

        /** @param more further keys of {@code shared}, and sections */
        ProxyServer gateway(Path ca, String more) throws Exception {
            return ProxyServer.start("""
                    listeners: [{port: 0}]
                    local: {embedded_models: true}
                    default_upstream: local
                    shared:
                      url: rediss://localhost:%d/2
                      user: isthmus
                      password_file: "%s"
                      ca: "%s"
                      timeout: 10s
                    %s""".formatted(
                            server.port(), RedisTls.password(folder.resolve("password"), RedisTls.PASSWORD), ca, more));
        }

        /** @param certificate of the gateway */
        ProxyServer gateway(TestAuthority.Issued certificate) throws Exception {
            return gateway(
                    tls.ca(),
                    "  certificate: \"%s\"\n  key: \"%s\"\n".formatted(certificate.certificate(), certificate.key()));
        }
    }

    @BeforeAll
    static void start() throws Exception {
        Path one = Files.createDirectory(folder.resolve("one"));
        redis = SecureRedis.start(one, new RedisTls(one));
        Path other = Files.createDirectory(folder.resolve("mutual"));
        mutual = SecureRedis.start(other, RedisTls.mutual(other));
    }

    @AfterAll
    static void stop() {
        redis.server().close();
        mutual.server().close();
    }

    private static double up(ProxyServer gateway) {
        return gateway.meters().get("isthmus.shared.up").gauge().value();
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
        try (ProxyServer gateway = redis.gateway(redis.tls().ca(), LIMITED)) {
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
        long before = redis.refused();
        try (ProxyServer gateway = redis.gateway(other.ca(), LIMITED)) {
            await().atMost(PATIENCE).until(() -> redis.refused() > before);
            assertThat(up(gateway)).isZero();
            assertThat(status(gateway)).isEqualTo(503);
        }
    }

    @Test
    void certificateOfTheClient_isShown() throws Exception {
        try (ProxyServer gateway = mutual.gateway(mutual.tls().client("client"))) {
            await().atMost(PATIENCE).until(() -> up(gateway) == 1);
        }
    }

    @Test
    void clientWithoutACertificate_isRefused() throws Exception {
        long before = mutual.refused();
        try (ProxyServer gateway = mutual.gateway(mutual.tls().ca(), "")) {
            await().atMost(PATIENCE).until(() -> mutual.refused() > before);
            assertThat(up(gateway)).isZero();
        }
    }

    @Test
    void certificateOfAnotherAuthority_isRefused_untilTheFilesAreReplaced() throws Exception {
        TestAuthority stranger = new TestAuthority(Files.createDirectory(folder.resolve("stranger")), "ca");
        TestAuthority.Issued wrong = stranger.issue("wrong", "gateway");
        TestAuthority.Issued right = mutual.tls().client("renewed");
        long before = mutual.refused();
        try (ProxyServer gateway = mutual.gateway(wrong)) {
            await().atMost(PATIENCE).until(() -> mutual.refused() > before);
            assertThat(up(gateway)).isZero();
            Files.move(right.key(), wrong.key(), StandardCopyOption.REPLACE_EXISTING);
            Files.move(right.certificate(), wrong.certificate(), StandardCopyOption.REPLACE_EXISTING);
            await().atMost(PATIENCE).until(() -> up(gateway) == 1);
        }
    }
}
