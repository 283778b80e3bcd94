package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.upstream.FakeRestServer;
import io.grpc.ManagedChannel;
import io.grpc.netty.NettyChannelBuilder;
import io.micrometer.core.instrument.FunctionTimer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Servers that are reachable and respond with 500. */
class ServerErrorsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final String TOKEN = "a-token-of-32-characters-or-more!";
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String INFER =
            "{\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":\"FP32\",\"data\":[1]}]}";
    private static final String RESPONSE =
            "{\"model_name\":\"m\",\"outputs\":[{\"name\":\"y\",\"shape\":[1],\"datatype\":\"FP32\",\"data\":[1]}]}";

    private static FakeRestServer server(String inference) throws IOException {
        return FakeRestServer.that((request, out) -> {
            FakeRestServer.write(out, request.head().startsWith("POST ") ? inference : FakeRestServer.ok("{}"));
            return true;
        });
    }

    private static FakeRestServer good() throws IOException {
        return server(FakeRestServer.ok(RESPONSE));
    }

    private static FakeRestServer refusing(int status) throws IOException {
        return server("HTTP/1.1 " + status + " No\r\nContent-Length: 16\r\n\r\n{\"error\":\"fail\"}");
    }

    private static Gateway inFrontOf(FakeRestServer one, FakeRestServer two) throws Exception {
        return inFrontOf(one, two, "");
    }

    private static Gateway inFrontOf(FakeRestServer one, FakeRestServer two, String admin) throws Exception {
        return Gateway.start(ConfigLoader.parse(
                "f.yaml",
                """
                listeners: [{port: 0}]
                admin: {port: 0%s}
                upstreams:
                  u:
                    protocol: rest
                    endpoints: ["%s", "%s"]
                    balance: {policy: round_robin}
                    outliers: {ejection: 1h, error_rate: {interval: 1s, minimum_calls: 3}}
                default_upstream: u
                """.formatted(admin, one.endpoint().authority(), two.endpoint().authority()),
                Path.of(".")));
    }

    private static Http1Client client(int port) throws IOException {
        return new Http1Client(new Socket(InetAddress.getLoopbackAddress(), port));
    }

    private static String authorized(Http1Client client, String path) throws IOException {
        return client.get(path, "Authorization: Bearer " + TOKEN).response().text();
    }

    private static void infer(Gateway gateway, int times) throws Exception {
        try (Http1Client client = client(gateway.addresses().getFirst().getPort())) {
            for (int i = 0; i < times; i++) {
                client.post("/v2/models/m/infer", INFER).response();
            }
        }
    }

    private static JsonNode document(Gateway gateway, FakeRestServer server) throws Exception {
        try (Http1Client client = client(gateway.adminAddress().orElseThrow().getPort())) {
            for (JsonNode each :
                    JSON.readTree(client.get("/servers").response().text()).path("servers")) {
                if (each.path("server").asText().equals(server.endpoint().authority())) {
                    return each;
                }
            }
        }
        throw new AssertionError("the server is expected");
    }

    private static long tries(Gateway gateway, FakeRestServer server, String outcome) {
        FunctionTimer timer = gateway.meters()
                .get("isthmus.endpoint.requests")
                .tags("endpoint", server.endpoint().authority(), "outcome", outcome)
                .functionTimer();
        return (long) timer.count();
    }

    @Test
    void serverThatReturns500_isSeenAndEjected() throws Exception {
        try (FakeRestServer bad = refusing(500);
                FakeRestServer good = good();
                Gateway gateway = inFrontOf(bad, good)) {
            await().atMost(PATIENCE).until(() -> {
                infer(gateway, 20);
                return document(gateway, bad).path("ejected").asBoolean();
            });
            JsonNode document = document(gateway, bad);
            assertThat(document.path("ready").asBoolean()).isTrue();
            assertThat(document.path("failed").asLong()).isZero();
            assertThat(document.path("server_errors").asLong())
                    .isEqualTo(tries(gateway, bad, "error"))
                    .isEqualTo(document.path("calls").asLong());
            assertThat(tries(gateway, bad, "failed")).isZero();
            long before = tries(gateway, good, "answered");
            infer(gateway, 20);
            assertThat(tries(gateway, good, "answered")).isEqualTo(before + 20);
        }
    }

    @Test
    void failedMessagesOfAStream_areErrorsOfTheServer_andAProblem(@TempDir Path folder) throws Exception {
        Path token = Files.writeString(folder.resolve("token"), TOKEN);
        Files.setPosixFilePermissions(token, PosixFilePermissions.fromString("rw-------"));
        try (FakeRestServer one = refusing(500);
                FakeRestServer two = refusing(500);
                Gateway gateway = inFrontOf(one, two, ", token_file: '" + token + "'")) {
            ManagedChannel channel = NettyChannelBuilder.forAddress(
                            "127.0.0.1", gateway.addresses().getFirst().getPort())
                    .usePlaintext()
                    .build();
            try (Http1Client admin = client(gateway.adminAddress().orElseThrow().getPort())) {
                GrpcClient stream = GrpcClient.open(channel, "ModelStreamInfer");
                for (int i = 0; i < 4; i++) {
                    stream.send(Infer.request("m", "a", 1).toByteArray());
                    stream.response();
                }
                await().atMost(PATIENCE)
                        .untilAsserted(() -> assertThat(JSON.readTree(authorized(admin, "/debug/errors"))
                                        .findValuesAsText("errors"))
                                .containsExactly("4"));
                await().atMost(PATIENCE)
                        .untilAsserted(
                                () -> assertThat(authorized(admin, "/problems")).contains("model_failing"));
            } finally {
                channel.shutdownNow();
            }
        }
    }

    @Test
    void mistakesOfClients_areNoErrors() throws Exception {
        try (FakeRestServer strict = refusing(400);
                FakeRestServer good = good();
                Gateway gateway = inFrontOf(strict, good)) {
            infer(gateway, 20);
            await().atMost(PATIENCE).until(() -> tries(gateway, strict, "answered") == 10);
            assertThat(document(gateway, strict).path("server_errors").asLong()).isZero();
        }
    }
}
