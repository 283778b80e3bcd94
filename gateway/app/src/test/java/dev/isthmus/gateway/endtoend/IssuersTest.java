package dev.isthmus.gateway.endtoend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.gateway.Gateway;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tokens of two real issuers (oidc-provider), one of which is down for a while. */
class IssuersTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final String METADATA = "/v2/models/digits";

    @SuppressWarnings("InlineFormatString") // is read more easily on its own
    private static final String CONFIG = """
            listeners: [{port: 0}]
            health: {warm_up: 0s}
            local: {embedded_models: true}
            default_upstream: local
            authentication:
              jwt:
                - {issuer: "http://127.0.0.1:%1$d", audiences: [isthmus], jwks_url: "http://127.0.0.1:%1$d/jwks",
                   algorithms: [ps256]}
                - {issuer: "http://127.0.0.1:%2$d", audiences: [isthmus], jwks_url: "http://127.0.0.1:%2$d/jwks",
                   algorithms: [es384]}
            access:
              rules:
                - {name: first, who: {names: [caller], claims: {iss: "http://127.0.0.1:%1$d"}}, may: [metadata, infer]}
                - {name: second, who: {names: [caller], claims: {iss: "http://127.0.0.1:%2$d"}}, may: [metadata]}
            """;

    @TempDir
    Path folder = Path.of(".");

    private final HttpClient client = HttpClient.newHttpClient();

    @Test
    void twoIssuers_areKnownByTheirTokens_andOneThatIsDownStopsOnlyItsOwn() throws Exception {
        int first = RealServer.freePort();
        int second = RealServer.freePort();
        Process up = issuer(first, "PS256");
        Process down = issuer(second, "ES384");
        try {
            String ofFirst = token(first);
            String ofSecond = token(second);
            Script.stop(down);
            try (Gateway gateway = TestGateways.start(CONFIG.formatted(first, second))) {
                await().atMost(PATIENCE)
                        .until(() -> get(gateway, ofFirst, METADATA).statusCode() == 200);
                HttpResponse<String> unavailable = get(gateway, ofSecond, METADATA);
                assertThat(unavailable.statusCode()).isEqualTo(503);
                assertThat(unavailable.headers().firstValue("retry-after")).hasValue("1");
                down = issuer(second, "ES384");
                await().atMost(PATIENCE)
                        .until(() -> get(gateway, ofSecond, METADATA).statusCode() == 200);
                // The same name, and other rights.
                assertThat(get(gateway, ofFirst, "/v2/models/digits/stats").statusCode())
                        .isEqualTo(403);
                assertThat(infer(gateway, ofFirst)).isEqualTo(400);
                assertThat(infer(gateway, ofSecond)).isEqualTo(403);
                // Keys that were fetched go on, and no issuer vouches for another one.
                Script.stop(down);
                assertThat(get(gateway, ofSecond, METADATA).statusCode()).isEqualTo(200);
                assertThat(get(gateway, forged(ofFirst, ofSecond), METADATA).statusCode())
                        .isEqualTo(401);
                assertThat(get(gateway, ofFirst, METADATA).statusCode()).isEqualTo(200);
            }
        } finally {
            Script.stop(up);
            Script.stop(down);
        }
    }

    /** The claims of one token with head and signature of the other. */
    private static String forged(String token, String claims) {
        String[] parts = token.split("\\.", -1);
        return parts[0] + "." + claims.split("\\.", -1)[1] + "." + parts[2];
    }

    private Process issuer(int port, String algorithm) throws IOException, InterruptedException {
        Path tools = Script.folder("console", Script.run("install.sh", "console"));
        Process process = new ProcessBuilder(List.of(
                        "node",
                        tools.resolve("issuer.mjs").toString(),
                        Integer.toString(port),
                        algorithm,
                        folder.resolve(algorithm + ".jwk").toString()))
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve(algorithm + ".log").toFile())
                .start();
        await().atMost(PATIENCE).until(() -> !process.isAlive() || accepts(port));
        assertThat(process.isAlive()).isTrue();
        return process;
    }

    private static boolean accepts(int port) {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            return socket.isConnected();
        } catch (IOException notYet) {
            return false;
        }
    }

    private String token(int port) throws IOException, InterruptedException {
        String credential = Base64.getEncoder().encodeToString("caller:secret".getBytes(StandardCharsets.US_ASCII));
        HttpResponse<String> response = client.send(
                HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/token"))
                        .header("authorization", "Basic " + credential)
                        .header("content-type", "application/x-www-form-urlencoded")
                        .POST(HttpRequest.BodyPublishers.ofString("grant_type=client_credentials"))
                        .build(),
                HttpResponse.BodyHandlers.ofString());
        assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
        return new ObjectMapper().readTree(response.body()).get("access_token").asText();
    }

    private HttpResponse<String> get(Gateway gateway, String token, String path)
            throws IOException, InterruptedException {
        return client.send(request(gateway, token, path).build(), HttpResponse.BodyHandlers.ofString());
    }

    /** The status of an inference that has no input. */
    private int infer(Gateway gateway, String token) throws IOException, InterruptedException {
        HttpRequest request = request(gateway, token, "/v2/models/digits/infer")
                .POST(HttpRequest.BodyPublishers.ofString("{\"inputs\": []}"))
                .build();
        return client.send(request, HttpResponse.BodyHandlers.ofString()).statusCode();
    }

    private static HttpRequest.Builder request(Gateway gateway, String token, String path) {
        return HttpRequest.newBuilder(URI.create("http://" + TestGateways.address(gateway) + path))
                .header("authorization", "Bearer " + token);
    }
}
