package dev.isthmus.gateway.tls;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.settings.TestAuthority;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What {@code /debug/connections} says of TLS. */
class DescribedTlsTest {
    @TempDir
    Path folder = Path.of(".");

    @Test
    void connections_haveVersionAndCipher() throws Exception {
        TestAuthority authority = new TestAuthority(folder, "ca");
        authority.issue("front", "localhost", "127.0.0.1");
        Path token = Files.writeString(folder.resolve("token"), "secret");
        Files.setPosixFilePermissions(token, PosixFilePermissions.fromString("rw-------"));
        String config = """
                admin: {port: 0, token_file: token}
                local: {embedded_models: true}
                default_upstream: local
                listeners: [{port: 0, tls: {certificates: [{certificate: ca-front.pem, key: ca-front.key}]}}]
                """;
        try (Gateway gateway = Gateway.start(TlsStage.config(folder, config));
                HttpClient client = HttpClient.newBuilder()
                        .sslContext(TlsStage.trusting(authority, null))
                        .build()) {
            URI live = URI.create(
                    "https://localhost:" + gateway.addresses().getFirst().getPort() + "/livez");
            assertThat(client.send(HttpRequest.newBuilder(live).build(), BodyHandlers.ofString())
                            .statusCode())
                    .isEqualTo(200);
            URI debug = URI.create(
                    "http://127.0.0.1:" + gateway.adminAddress().orElseThrow().getPort() + "/debug/connections");
            HttpRequest request = HttpRequest.newBuilder(debug)
                    .header("Authorization", "Bearer secret")
                    .build();
            await().untilAsserted(() -> {
                JsonNode connections = new ObjectMapper()
                        .readTree(client.send(request, BodyHandlers.ofString()).body())
                        .path("connections");
                assertThat(connections).hasSize(1);
                assertThat(connections.get(0).path("tls").asText()).matches("TLSv1\\.[23] [A-Z0-9_]+");
                assertThat(connections.get(0).path("protocol").asText()).isEqualTo("HTTP/2");
                assertThat(connections.get(0).path("idle_seconds").asDouble()).isNotNegative();
            });
        }
    }
}
