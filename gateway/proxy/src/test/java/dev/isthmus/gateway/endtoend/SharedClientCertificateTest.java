package dev.isthmus.gateway.endtoend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.flow.ProxyServer;
import dev.isthmus.gateway.settings.TestAuthority;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A real Redis that refuses clients without a certificate. */
class SharedClientCertificateTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    /** What the server logs of a client that it refuses. */
    private static final String REFUSED = "Error accepting a client connection";

    @TempDir
    static Path folder = Path.of(".");

    private static RedisServer redis;
    private static RedisTls tls;

    @BeforeAll
    static void start() throws Exception {
        tls = RedisTls.mutual(folder);
        redis = RedisServer.secure(folder, tls, List.of(), "--loglevel", "verbose");
        RedisTls.password(folder.resolve("password"), RedisTls.PASSWORD);
    }

    @AfterAll
    static void stop() {
        redis.close();
    }

    /** @param certificate keys of the configuration */
    private static ProxyServer gateway(String certificate) throws Exception {
        return ProxyServer.start("""
                listeners: [{port: 0}]
                local: {embedded_models: true}
                default_upstream: local
                shared:
                  url: rediss://localhost:%d
                  user: isthmus
                  password_file: "%s"
                  ca: "%s"
                  timeout: 10s
                %s""".formatted(redis.port(), folder.resolve("password"), tls.ca(), certificate));
    }

    private static String keys(Path certificate, Path key) {
        return """
                  certificate: "%s"
                  key: "%s"
                """.formatted(certificate, key);
    }

    private static String log() throws IOException {
        return Files.readString(folder.resolve("redis.log"));
    }

    private static double up(ProxyServer gateway) {
        return gateway.meters().get("isthmus.shared.up").gauge().value();
    }

    @Test
    void certificate_isShown() throws Exception {
        TestAuthority.Issued own = tls.client("client");
        try (ProxyServer gateway = gateway(keys(own.certificate(), own.key()))) {
            await().atMost(PATIENCE).until(() -> up(gateway) == 1);
        }
    }

    @Test
    void withoutCertificate_theServerRefuses() throws Exception {
        String before = log();
        try (ProxyServer gateway = gateway("")) {
            await().atMost(PATIENCE)
                    .until(() -> log().substring(before.length()).contains(REFUSED));
            assertThat(up(gateway)).isZero();
        }
    }

    @Test
    void certificateOfAnotherAuthority_isRefused_untilTheFilesAreReplaced() throws Exception {
        TestAuthority stranger = new TestAuthority(Files.createDirectory(folder.resolve("stranger")), "ca");
        TestAuthority.Issued wrong = stranger.issue("wrong", "gateway");
        TestAuthority.Issued right = tls.client("renewed");
        String before = log();
        try (ProxyServer gateway = gateway(keys(wrong.certificate(), wrong.key()))) {
            await().atMost(PATIENCE)
                    .until(() -> log().substring(before.length()).contains(REFUSED));
            assertThat(up(gateway)).isZero();
            Files.move(right.key(), wrong.key(), StandardCopyOption.REPLACE_EXISTING);
            Files.move(right.certificate(), wrong.certificate(), StandardCopyOption.REPLACE_EXISTING);
            await().atMost(PATIENCE).until(() -> up(gateway) == 1);
        }
    }
}
