package dev.isthmus.gateway.tracing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.isthmus.gateway.settings.TracingConfig;
import dev.isthmus.gateway.settings.TracingConfig.ParentDecision;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509TrustManager;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Against a collector that accepts spans and does not end its responses. */
class OtlpSenderTest {
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private HttpServer collector;
    private volatile CollectorResponse response = CollectorResponse.EMPTY;

    private enum CollectorResponse {
        EMPTY,
        STOPS,
        ENDLESS
    }

    @BeforeEach
    void start() throws IOException {
        collector = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        collector.setExecutor(threads);
        collector.createContext("/", this::respond);
        collector.start();
    }

    @AfterEach
    void stop() {
        collector.stop(0);
        threads.shutdownNow();
    }

    private void respond(HttpExchange exchange) throws IOException {
        exchange.getRequestBody().readAllBytes();
        switch (response) {
            case EMPTY -> {
                exchange.sendResponseHeaders(200, -1);
                exchange.close();
            }
            case STOPS -> {
                exchange.sendResponseHeaders(200, 1000);
                exchange.getResponseBody().flush();
            }
            case ENDLESS -> {
                exchange.sendResponseHeaders(200, 0);
                while (true) {
                    exchange.getResponseBody().write(new byte[1 << 16]);
                }
            }
        }
    }

    private OtlpSender sender(Duration timeout) {
        return sender(timeout, null);
    }

    private OtlpSender sender(Duration timeout, @Nullable Path ca) {
        return sender(timeout, ca, Map.of());
    }

    private OtlpSender sender(Duration timeout, @Nullable Path ca, Map<String, Path> headers) {
        return new OtlpSender(new TracingConfig(
                "http://127.0.0.1:" + collector.getAddress().getPort() + "/v1/traces",
                1,
                ParentDecision.IGNORED,
                "isthmus",
                Map.of(),
                headers,
                ca,
                timeout,
                10));
    }

    @Test
    void responseThatStops_isGivenUp_andTheNextOneIsRead() throws Exception {
        // The first request of a JVM may take longer than the others have time.
        try (OtlpSender first = sender(Duration.ofMinutes(1))) {
            assertThat(first.send(List.of())).isNull();
        }
        try (OtlpSender sender = sender(Duration.ofSeconds(2))) {
            assertThat(sender.send(List.of())).isNull();
            response = CollectorResponse.STOPS;
            for (int i = 0; i < 3; i++) {
                assertThat(sender.send(List.of())).isEqualTo("no response in time");
            }
            response = CollectorResponse.EMPTY;
            assertThat(sender.send(List.of())).isNull();
        }
    }

    /** For its size, long before its time is over. */
    @Test
    void endlessResponse_isRefused() throws Exception {
        try (OtlpSender sender = sender(Duration.ofMinutes(1))) {
            response = CollectorResponse.ENDLESS;
            assertThat(sender.send(List.of())).isNotNull();
            response = CollectorResponse.EMPTY;
            assertThat(sender.send(List.of())).isNull();
        }
    }

    /** The certificate of one that the JVM trusts, as PEM. */
    private static String anyAuthority() throws GeneralSecurityException {
        TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        factory.init((KeyStore) null);
        X509TrustManager trusted = (X509TrustManager) factory.getTrustManagers()[0];
        String encoded = Base64.getMimeEncoder().encodeToString(trusted.getAcceptedIssuers()[0].getEncoded());
        return "-----BEGIN CERTIFICATE-----\n" + encoded + "\n-----END CERTIFICATE-----\n";
    }

    /** What cannot be sent says so in the log, where a secret must not be. */
    @Test
    void headerOfTwoLines_isRefused_andNotShown(@TempDir Path folder) throws Exception {
        Path key = Files.writeString(folder.resolve("key"), "first-secret\nsecond-secret\n");
        Files.setPosixFilePermissions(key, PosixFilePermissions.fromString("rw-------"));
        try (OtlpSender sender = sender(Duration.ofMinutes(1), null, Map.of("x-api-key", key))) {
            assertThat(sender.send(List.of())).isEqualTo(key + " has more than a line of text");
            Files.writeString(key, "first-secret\n");
            assertThat(sender.send(List.of())).isNull();
        }
    }

    /** A Secret may be mounted late, and is removed for a moment when it is replaced by hand. */
    @Test
    void authorityThatCannotBeRead_isReadLater(@TempDir Path folder) throws Exception {
        Path ca = folder.resolve("ca.pem");
        try (OtlpSender sender = sender(Duration.ofMinutes(1), ca)) {
            assertThatThrownBy(() -> sender.send(List.of())).isInstanceOf(NoSuchFileException.class);
            Files.writeString(ca, anyAuthority());
            assertThat(sender.send(List.of())).isNull();
        }
    }
}
