package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.gateway.settings.AccessLogConfig;
import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.Listener;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.proto.ModelInferRequest;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.netty.NettyChannelBuilder;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The lines that a gateway writes for its calls. */
class AccessLogTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String INFER = "/v2/models/m/infer";

    @TempDir
    private Path directory;

    private FakeGrpcServer server;
    private @Nullable ProxyServer running;

    /** Responds to every request with its number. */
    private static final class Echo implements FakeGrpcServer.Script {
        @Override
        public void message(ServerCall<byte[], byte[]> call, byte[] message) {
            ModelInferRequest request = Infer.request(message);
            call.sendMessage(Infer.responseTo(request, Infer.value(request)).toByteArray());
        }
    }

    @BeforeEach
    void startServer() throws Exception {
        server = new FakeGrpcServer(new Echo());
    }

    @AfterEach
    void stop() throws Exception {
        if (running != null) {
            running.close();
        }
        server.close();
    }

    private Path file() {
        return directory.resolve("access.log");
    }

    private AccessLogConfig config(Map<String, Object> changes) {
        Map<String, Object> all = new HashMap<>(changes);
        all.putIfAbsent("file", file());
        return TestConfigs.with(DefaultValues.of(AccessLogConfig.class), all);
    }

    private GatewayConfig gatewayConfig(AccessLogConfig log) throws IOException {
        return TestConfigs.with(
                GatewayConfig.DEFAULT,
                Map.of(
                        "listeners",
                        List.of(TestConfigs.with(Listener.DEFAULT.at("127.0.0.1", 0), Map.of("grpcWeb", true))),
                        "upstreams",
                        Map.of(
                                "alive",
                                Stage.grpc(server, ServerDialect.GENERIC),
                                "gone",
                                TestConfigs.upstream(
                                        GatewayConfig.UpstreamProtocol.GRPC, TestConfigs.unusedEndpoint())),
                        "models",
                        Map.of("m", ModelConfig.of("alive"), "lost", ModelConfig.of("gone")),
                        "accessLog",
                        log));
    }

    private ProxyServer gateway() {
        return Objects.requireNonNull(running);
    }

    private void start(Map<String, Object> changes) throws Exception {
        running = ProxyServer.start(gatewayConfig(config(changes)));
    }

    private Http1Client client() throws IOException {
        return new Http1Client(new Socket(
                InetAddress.getLoopbackAddress(),
                gateway().addresses().getFirst().getPort()));
    }

    private static List<JsonNode> parsed(Path file) throws IOException {
        List<JsonNode> lines = new ArrayList<>();
        if (Files.exists(file)) {
            for (String line : Files.readAllLines(file)) {
                lines.add(JSON.readTree(line));
            }
        }
        return lines;
    }

    private List<JsonNode> lines(int count) {
        List<JsonNode> read = new ArrayList<>();
        await().untilAsserted(() -> {
            read.clear();
            read.addAll(parsed(file()));
            assertThat(read).hasSize(count);
        });
        return read;
    }

    @Test
    void failedMessagesOfAStream_haveLines() throws Exception {
        start(Map.of());
        ManagedChannel channel = NettyChannelBuilder.forAddress(
                        "127.0.0.1", gateway().addresses().getFirst().getPort())
                .usePlaintext()
                .build();
        try {
            GrpcClient stream = GrpcClient.open(channel, "ModelStreamInfer");
            for (String model : List.of("m", "lost", "unknown")) {
                stream.send(Infer.request(model, "a", 1).toByteArray());
                stream.response();
            }
            stream.end();
            assertThat(stream.status().isOk()).isTrue();
        } finally {
            channel.shutdownNow();
        }
        List<JsonNode> lines = lines(3);
        assertThat(lines).extracting(each -> each.path("operation").asText()).containsOnly("infer_stream");
        assertThat(lines)
                .extracting(each -> each.path("code").asText())
                .containsExactly("UNAVAILABLE", "NOT_FOUND", "OK");
        assertThat(lines).extracting(each -> each.path("model").asText()).containsExactly("lost", "unknown", "");
        assertThat(lines.getFirst().path("upstream").asText()).isEqualTo("gone");
        assertThat(lines)
                .extracting(each -> each.path("request_id").asText())
                .containsOnly(lines.getLast().path("request_id").asText());
    }

    /** As metrics count it. */
    @Test
    void messageThatItsClientCancels_hasALine() throws Exception {
        server.close();
        server = new FakeGrpcServer((call, message) -> {});
        start(Map.of());
        ManagedChannel channel = NettyChannelBuilder.forAddress(
                        "127.0.0.1", gateway().addresses().getFirst().getPort())
                .usePlaintext()
                .build();
        try {
            GrpcClient stream = GrpcClient.open(channel, "ModelStreamInfer");
            stream.send(Infer.request("m", "a", 1).toByteArray());
            assertThat(server.messages.poll(30, TimeUnit.SECONDS)).isNotNull();
            stream.cancel();
            List<JsonNode> lines = lines(2);
            assertThat(lines).extracting(each -> each.path("code").asText()).containsOnly("CANCELLED");
            assertThat(lines).extracting(each -> each.path("model").asText()).containsExactlyInAnyOrder("m", "");
        } finally {
            channel.shutdownNow();
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "/inference.GRPCInferenceService/ModelInfer HTTP/1.1\r\nContent-Type: application/grpc-web+proto",
                INFER + " HTTP/1.1\r\nContent-Type: application/json"
            })
    void callCancelledBeforeItsMessageIsComplete_hasALine(String request) throws Exception {
        start(Map.of());
        try (Http1Client client = client()) {
            client.send("POST " + request + "\r\nHost: a\r\nContent-Length: 100\r\n\r\n{");
        }
        assertThat(lines(1).getFirst().path("code").asText()).isEqualTo("CANCELLED");
    }

    @Test
    void inference_hasTheFactsOfTheCall() throws Exception {
        start(Map.of("headers", List.of("user-agent", "x-tenant")));
        String body = Infer.json("a", 7);
        try (Http1Client client = client()) {
            client.send("POST " + INFER + "?x=secret HTTP/1.1\r\nHost: a\r\nX-Request-Id: r-1\r\nX-Tenant: t\"\r\n"
                    + "Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n"
                    + "Content-Length: " + body.length() + "\r\n\r\n" + body);
            assertThat(client.response().status()).isEqualTo(200);
        }
        JsonNode line = lines(1).getFirst();
        assertThat(line.path("time").asText()).matches("20\\d\\d-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d\\d\\dZ");
        assertThat(line.path("request_id").asText()).isEqualTo("r-1");
        assertThat(line.path("trace_id").asText()).isEqualTo("0af7651916cd43dd8448eb211c80319c");
        assertThat(line.path("peer").asText()).startsWith("127.0.0.1:");
        assertThat(line.path("listener").asText()).isEqualTo("127.0.0.1:0");
        assertThat(line.path("protocol").asText()).isEqualTo("rest");
        assertThat(line.path("method").asText()).isEqualTo("POST");
        assertThat(line.path("path").asText()).isEqualTo(INFER);
        assertThat(line.path("headers").toString()).isEqualTo("{\"x-tenant\":\"t\\\"\"}");
        assertThat(line.path("operation").asText()).isEqualTo("infer");
        assertThat(line.path("model").asText()).isEqualTo("m");
        assertThat(line.has("version")).isFalse();
        assertThat(line.path("route").asText()).isEqualTo("m");
        assertThat(line.path("target").asText()).isEqualTo("alive");
        assertThat(line.path("upstream").asText()).isEqualTo("alive");
        assertThat(line.path("server").asText()).isEqualTo("127.0.0.1:" + server.port());
        assertThat(line.path("attempts").asInt()).isEqualTo(1);
        assertThat(line.path("http_status").asInt()).isEqualTo(200);
        assertThat(line.path("grpc_status").asInt(-1)).isZero();
        assertThat(line.path("code").asText()).isEqualTo("OK");
        assertThat(line.path("request_bytes").asInt()).isEqualTo(body.length());
        assertThat(line.path("response_bytes").asInt()).isPositive();
        for (String time : List.of("request_ms", "upstream_ms", "response_ms", "duration_ms")) {
            assertThat(line.path(time).isNumber()).as(time).isTrue();
        }
    }

    @Test
    void retriedAndFailedCall_namesTheRetriesAndTheReason() throws Exception {
        start(Map.of("sample", 0.0));
        try (Http1Client client = client()) {
            assertThat(client.post(INFER, Infer.json("a", 7)).response().status())
                    .isEqualTo(200);
            assertThat(client.post("/v2/models/lost/infer", Infer.json("a", 7))
                            .response()
                            .status())
                    .isEqualTo(503);
        }
        JsonNode line = lines(1).getFirst();
        assertThat(line.path("model").asText()).isEqualTo("lost");
        assertThat(line.path("code").asText()).isEqualTo("UNAVAILABLE");
        assertThat(line.path("http_status").asInt()).isEqualTo(503);
        assertThat(line.path("grpc_status").asInt()).isEqualTo(14);
        assertThat(line.path("attempts").asInt()).isEqualTo(line.path("retries").size() + 1);
        assertThat(line.path("cause").asText()).isEqualTo("connect");
        assertThat(line.path("reason").asText()).contains("gone");
        assertThat(line.path("target").asText()).isEqualTo("gone");
        double phases = line.path("request_ms").asDouble()
                + line.path("upstream_ms").asDouble()
                + line.path("response_ms").asDouble();
        assertThat(line.path("upstream_ms").isNumber()).isTrue();
        assertThat(phases).isCloseTo(line.path("duration_ms").asDouble(), within(0.01));
    }

    @Test
    void refusedRequests_areLogged_andCannotAddLines() throws Exception {
        start(Map.of("headers", List.of("user-agent")));
        try (Http1Client client = client()) {
            client.send("GET /v2/no%22thing HTTP/1.1\r\nHost: a\r\nUser-Agent: \"},{\u00e4\r\n\r\n");
            assertThat(client.response().status()).isEqualTo(404);
        }
        try (Http1Client client = client()) {
            client.send("GET /v2 HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n");
            assertThat(client.response().status()).isEqualTo(400);
        }
        List<JsonNode> lines = lines(2);
        // The connections may be on different event loops.
        lines.sort(Comparator.comparing(line -> line.path("code").asText(), Comparator.reverseOrder()));
        assertThat(lines.getFirst().path("code").asText()).isEqualTo("NOT_FOUND");
        assertThat(lines.getFirst().path("operation").asText()).isEqualTo("unknown");
        assertThat(lines.getFirst().path("headers").path("user-agent").asText()).isEqualTo("\"},{\u00e4");
        assertThat(lines.getFirst().path("path").asText()).isEqualTo("/v2/no%22thing");
        assertThat(lines.getLast().path("code").asText()).isEqualTo("INVALID_ARGUMENT");
    }

    @Test
    void grpcCall_isLogged() throws Exception {
        start(Map.of());
        ManagedChannel channel = NettyChannelBuilder.forAddress(
                        "127.0.0.1", gateway().addresses().getFirst().getPort())
                .usePlaintext()
                .build();
        try {
            GrpcClient.ask(
                            channel,
                            "ModelInfer",
                            new Metadata(),
                            Infer.request("m", "a", 7).toByteArray())
                    .status();
        } finally {
            channel.shutdownNow();
        }
        JsonNode line = lines(1).getFirst();
        assertThat(line.path("protocol").asText()).isEqualTo("grpc");
        assertThat(line.path("path").asText()).isEqualTo("/inference.GRPCInferenceService/ModelInfer");
        assertThat(line.path("model").asText()).isEqualTo("m");
    }

    @Test
    void shareOfModel_isThatOfItsNameOrPattern() throws Exception {
        start(Map.of("models", Map.of("m", 1.0, "*", 0.0), "slow", Duration.ZERO));
        try (Http1Client client = client()) {
            assertThat(client.get("/v2/models/lost/ready").response().status()).isNotEqualTo(404);
            assertThat(client.post(INFER, Infer.json("a", 7)).response().status())
                    .isEqualTo(200);
        }
        gateway().close();
        assertThat(parsed(file()))
                .filteredOn(line -> line.path("code").asText().equals("OK"))
                .allMatch(line -> line.path("model").asText().equals("m"))
                .hasSize(1);
    }

    @Test
    void fullFile_isRenamed_andTheOldestIsRemoved() throws Exception {
        start(Map.of("rotateAt", 1, "keep", 2));
        try (Http1Client client = client()) {
            for (int i = 0; i < 4; i++) {
                assertThat(client.get("/v2/health/live").response().status()).isEqualTo(200);
                int written = i + 1;
                await().until(() -> gateway()
                                .meters()
                                .get("isthmus.access.log.lines")
                                .counter()
                                .count()
                        == written);
            }
        }
        assertThat(directory.toFile().list()).containsExactlyInAnyOrder("access.log", "access.log.1", "access.log.2");
        for (String name : List.of("access.log", "access.log.1", "access.log.2")) {
            assertThat(parsed(directory.resolve(name))).hasSize(1);
        }
    }

    @Test
    void symbolicLink_isNotRenamed() throws Exception {
        Path target = Files.createFile(directory.resolve("target"));
        Files.createSymbolicLink(file(), target);
        start(Map.of("rotateAt", 1, "keep", 2));
        try (Http1Client client = client()) {
            for (int i = 0; i < 3; i++) {
                assertThat(client.get("/v2/health/live").response().status()).isEqualTo(200);
                lines(i + 1);
            }
        }
        assertThat(directory.toFile().list()).containsExactlyInAnyOrder("access.log", "target");
        assertThat(Files.isSymbolicLink(file())).isTrue();
    }

    @Test
    void fileThatCannotBeWritten_costsNoCall_andIsCounted() throws Exception {
        Path missing = directory.resolve("missing");
        start(Map.of("file", missing.resolve("access.log")));
        try (Http1Client client = client()) {
            assertThat(client.get("/v2/health/live").response().status()).isEqualTo(200);
            await().until(() -> gateway()
                            .meters()
                            .get("isthmus.access.log.dropped.lines")
                            .tag("reason", "io_error")
                            .counter()
                            .count()
                    == 1);
            Files.createDirectory(missing);
            assertThat(client.get("/v2/health/live").response().status()).isEqualTo(200);
        }
        await().untilAsserted(
                        () -> assertThat(parsed(missing.resolve("access.log"))).hasSize(1));
    }

    @Test
    void reload_changesTheFile_andLosesNoLine() throws Exception {
        start(Map.of());
        Path other = directory.resolve("other.log");
        try (Http1Client client = client()) {
            assertThat(client.get("/v2/health/live").response().status()).isEqualTo(200);
            await().until(() -> gateway().meters().get("isthmus.requests.under.way").gauges().stream()
                    .allMatch(gauge -> gauge.value() == 0));
            gateway().reload(gatewayConfig(config(Map.of("file", other))));
        }
        try (Http1Client client = client()) {
            assertThat(client.get("/v2/health/live").response().status()).isEqualTo(200);
        }
        gateway().close();
        assertThat(parsed(file())).hasSize(1);
        assertThat(parsed(other)).hasSize(1);
    }
}
