package dev.isthmus.gateway.tls;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.flow.ProxyServer;
import dev.isthmus.gateway.net.LoggedEvents;
import dev.isthmus.gateway.settings.TestAuthority;
import java.io.ByteArrayOutputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Objects;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Servers behind TLS: another gateway, which runs a model. */
@Timeout(120)
class UpstreamTlsTest {
    private static final String ONE_CERTIFICATE = "tls: {certificates: [{certificate: ca-%s.pem, key: ca-%1$s.key}]";

    @TempDir
    Path folder = Path.of("");

    private TestAuthority authority;
    private SSLContext client;
    private @Nullable ProxyServer back;
    private @Nullable ProxyServer front;

    @RegisterExtension
    final LoggedEvents log = new LoggedEvents(ClientTls.class.getName());

    @BeforeEach
    void start() throws Exception {
        authority = new TestAuthority(folder, "ca");
        authority.issue("front", "localhost", "127.0.0.1");
        client = TlsStage.trusting(authority, null);
    }

    @AfterEach
    void stop() {
        if (front != null) {
            front.close();
        }
        if (back != null) {
            back.close();
        }
    }

    private ProxyServer front() {
        return Objects.requireNonNull(front);
    }

    private int backPort() {
        return TlsStage.port(Objects.requireNonNull(back));
    }

    private void open(String certificate, String protocol, String tls) throws Exception {
        open(certificate, "", protocol, tls);
    }

    /**
     * @param certificate the server's
     * @param clients the end of its section {@code tls}
     * @param tls the upstream's section
     */
    private void open(String certificate, String clients, String protocol, String tls) throws Exception {
        Path models = Path.of("../../local-backend/src/test/resources/models").toAbsolutePath();
        back = ProxyServer.start(
                TlsStage.config(folder, """
                default_upstream: local
                local: {model_repository: '%s', model_control: explicit, load: [identity_int32]}
                listeners: [{port: 0, %s}]
                """.formatted(models, ONE_CERTIFICATE.formatted(certificate) + clients + "}")));
        front = ProxyServer.start(TlsStage.config(
                folder, """
                default_upstream: back
                answers: {errors: passed}
                upstreams:
                  back: {protocol: %s, endpoints: ["localhost:%d"], connect_timeout: 5s, tls: %s}
                listeners: [{port: 0, %s}]
                """.formatted(protocol, backPort(), tls, ONE_CERTIFICATE.formatted("front") + "}")));
    }

    /** Sends a tensor of this size through both gateways. */
    private HttpResponse<byte[]> infer(HttpClient.Version version, int numbers) throws Exception {
        String head = "{\"inputs\":[{\"name\":\"INPUT0\",\"datatype\":\"INT32\",\"shape\":[1," + numbers
                + "],\"parameters\":{\"binary_data_size\":" + 4 * numbers
                + "}}],\"parameters\":{\"binary_data_output\":true}}";
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        body.writeBytes(head.getBytes(StandardCharsets.US_ASCII));
        body.writeBytes(raw(numbers));
        try (HttpClient http =
                HttpClient.newBuilder().sslContext(client).version(version).build()) {
            URI uri = URI.create("https://localhost:" + TlsStage.port(front()) + "/v2/models/identity_int32/infer");
            return http.send(
                    HttpRequest.newBuilder(uri)
                            .header("Inference-Header-Content-Length", Integer.toString(head.length()))
                            .header("Content-Type", "application/octet-stream")
                            .POST(HttpRequest.BodyPublishers.ofByteArray(body.toByteArray()))
                            .build(),
                    HttpResponse.BodyHandlers.ofByteArray());
        }
    }

    private static byte[] raw(int numbers) {
        byte[] raw = new byte[4 * numbers];
        for (int i = 0; i < raw.length; i++) {
            raw[i] = (byte) (i * 31 + i / 997);
        }
        return raw;
    }

    private static String text(HttpResponse<byte[]> response) {
        return new String(response.body(), StandardCharsets.ISO_8859_1);
    }

    private void expectEcho(HttpClient.Version version, int numbers) throws Exception {
        HttpResponse<byte[]> response = infer(version, numbers);
        assertThat(response.statusCode()).as(text(response)).isEqualTo(200);
        int head = Integer.parseInt(
                response.headers().firstValue("Inference-Header-Content-Length").orElseThrow());
        assertThat(Arrays.equals(response.body(), head, response.body().length, raw(numbers), 0, 4 * numbers))
                .isTrue();
    }

    @ParameterizedTest
    @CsvSource({"grpc, HTTP_1_1", "grpc, HTTP_2", "rest, HTTP_1_1", "rest, HTTP_2"})
    void inferences_passThroughTls(String protocol, HttpClient.Version version) throws Exception {
        authority.issue("back", "localhost");
        open("back", protocol, "{ca: ca-ca.pem}");
        for (int numbers : new int[] {1, 1000, 30_000, 3_000_000}) {
            expectEcho(version, numbers);
        }
        // Health checks and metadata, too.
        await().atMost(Duration.ofSeconds(20)).until(front()::ready);
        assertThat(TlsStage.count(front(), "isthmus.tls.handshakes", "side", "upstream", "result", "failed"))
                .isZero();
        assertThat(log.all()).isEmpty();
    }

    private void expectRefused(String protocol, String reason) throws Exception {
        HttpResponse<byte[]> response = infer(HttpClient.Version.HTTP_1_1, 1);
        assertThat(text(response)).isEqualTo("{\"error\":\"upstream 'back' is not reachable\"}");
        assertThat(response.statusCode()).isEqualTo(503);
        assertThat(log.messages())
                .as(protocol)
                .isNotEmpty()
                .allSatisfy(line -> assertThat(line)
                        .startsWith("upstream 'back': TLS to ")
                        .contains("127.0.0.1:" + backPort() + " as ")
                        .contains(reason));
        assertThat(log.all()).hasSizeLessThan(10);
        await().atMost(Duration.ofSeconds(20))
                .until(() -> front().servers().stream().allMatch(server -> server.checked() && !server.ready()));
        assertThat(front().servers()).isNotEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"grpc", "rest"})
    void serverWithAnotherHostName_isRefused(String protocol) throws Exception {
        authority.issue("other", "other.example");
        open("other", protocol, "{ca: ca-ca.pem}");
        expectRefused(protocol, "No subject alternative DNS name matching localhost found");
    }

    @ParameterizedTest
    @ValueSource(strings = {"grpc", "rest"})
    void serverName_isTheOneThatIsVerified(String protocol) throws Exception {
        authority.issue("other", "other.example");
        open("other", protocol, "{ca: ca-ca.pem, server_name: other.example}");
        expectEcho(HttpClient.Version.HTTP_1_1, 1);
    }

    @ParameterizedTest
    @ValueSource(strings = {"grpc", "rest"})
    void serverOfAnUnknownIssuer_isRefused(String protocol) throws Exception {
        new TestAuthority(folder, "stranger");
        authority.issue("back", "localhost");
        open("back", protocol, "{ca: stranger-ca.pem}");
        expectRefused(protocol, "the server's certificate was not issued by a trusted issuer ('ca')");
    }

    @ParameterizedTest
    @ValueSource(strings = {"grpc", "rest"})
    void issuersOfTheRuntime_areTheDefault(String protocol) throws Exception {
        authority.issue("back", "localhost");
        open("back", protocol, "{}");
        expectRefused(protocol, "the server's certificate was not issued by a trusted issuer ('ca')");
    }

    @ParameterizedTest
    @ValueSource(strings = {"grpc", "rest"})
    void expiredServer_isRefused(String protocol) throws Exception {
        authority.expired("old", "localhost");
        open("old", protocol, "{ca: ca-ca.pem}");
        expectRefused(protocol, "the server's certificate has expired");
    }

    @ParameterizedTest
    @ValueSource(strings = {"grpc", "rest"})
    void ownCertificate_isShownToTheServer(String protocol) throws Exception {
        authority.issue("back", "localhost");
        authority.issue("mine");
        open(
                "back",
                ", client_certificates: {mode: required, ca: ca-ca.pem}",
                protocol,
                "{ca: ca-ca.pem, certificate: ca-mine.pem, key: ca-mine.key}");
        expectEcho(HttpClient.Version.HTTP_1_1, 1000);
    }

    @ParameterizedTest
    @ValueSource(strings = {"grpc", "rest"})
    void serverThatAsksForACertificate_isNotReachableWithout(String protocol) throws Exception {
        authority.issue("back", "localhost");
        open("back", ", client_certificates: {mode: required, ca: ca-ca.pem}", protocol, "{ca: ca-ca.pem}");
        HttpResponse<byte[]> response = infer(HttpClient.Version.HTTP_1_1, 1);
        assertThat(response.statusCode()).isEqualTo(503);
    }
}
