package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.protobuf.ByteString;
import dev.isthmus.gateway.flow.EventCollector.EventPair;
import dev.isthmus.gateway.flow.EventCollector.SentEvent;
import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.Listener;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.PayloadLogConfig;
import dev.isthmus.gateway.settings.PayloadLogConfig.OmittedPayload;
import dev.isthmus.gateway.settings.PayloadLogConfig.PayloadEvents;
import dev.isthmus.gateway.settings.PayloadLogConfig.PayloadForm;
import dev.isthmus.gateway.settings.TestAuthority;
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
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The events that a gateway sends or writes for its calls. */
class PayloadLogTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String INFER = "/v2/models/m/infer";

    @TempDir
    private Path directory;

    private EventCollector sink;
    private FakeGrpcServer server;
    private @Nullable ProxyServer running;
    private @Nullable ManagedChannel opened;

    /** Responds to every request with its number, in a stream as Triton does. */
    private static final class Echo implements FakeGrpcServer.Script {
        @Override
        public void message(ServerCall<byte[], byte[]> call, byte[] message) {
            ModelInferRequest request = Infer.request(message);
            var response = Infer.responseTo(request, request.getRawInputContents(0));
            boolean stream = call.getMethodDescriptor().getFullMethodName().endsWith("ModelStreamInfer");
            call.sendMessage(stream ? Infer.enveloped(response) : response.toByteArray());
        }
    }

    @BeforeEach
    void startServers() throws Exception {
        sink = new EventCollector();
        server = new FakeGrpcServer(new Echo());
    }

    @AfterEach
    void stop() throws Exception {
        sink.release();
        if (opened != null) {
            opened.shutdownNow();
            await().until(opened::isTerminated);
        }
        if (running != null) {
            running.close();
        }
        server.close();
        sink.close();
    }

    private PayloadLogConfig config(Map<String, Object> changes) {
        Map<String, Object> all = new HashMap<>(changes);
        if (!all.containsKey("file")) {
            all.putIfAbsent("url", sink.url());
        }
        return TestConfigs.with(DefaultValues.of(PayloadLogConfig.class), all);
    }

    private GatewayConfig gatewayConfig(@Nullable PayloadLogConfig log) throws IOException {
        Map<String, Object> changes = new HashMap<>(Map.of(
                "listeners",
                List.of(Listener.DEFAULT.at("127.0.0.1", 0)),
                "upstreams",
                Map.of(
                        "alive",
                        Stage.grpc(server, ServerDialect.TRITON),
                        "gone",
                        TestConfigs.upstream(GatewayConfig.UpstreamProtocol.GRPC, TestConfigs.unusedEndpoint())),
                "models",
                Map.of("m", ModelConfig.of("alive"), "n", ModelConfig.of("alive"), "lost", ModelConfig.of("gone"))));
        changes.put("payloadLog", log);
        return TestConfigs.with(GatewayConfig.DEFAULT, changes);
    }

    private ProxyServer gateway() {
        return Objects.requireNonNull(running);
    }

    private int port() {
        return gateway().addresses().getFirst().getPort();
    }

    private void start(Map<String, Object> changes) throws Exception {
        running = ProxyServer.start(gatewayConfig(config(changes)));
    }

    private Http1Client client() throws IOException {
        return new Http1Client(new Socket(InetAddress.getLoopbackAddress(), port()));
    }

    private ManagedChannel channel() {
        ManagedChannel channel = NettyChannelBuilder.forAddress("127.0.0.1", port())
                .usePlaintext()
                .maxInboundMessageSize(64 << 20)
                .build();
        opened = channel;
        return channel;
    }

    private double counted(String meter, String reason) {
        return gateway().meters().get(meter).tag("reason", reason).counter().count();
    }

    private void post(String model, String body, int expected, String... headers) throws IOException {
        try (Http1Client client = client()) {
            assertThat(client.post("/v2/models/" + model + "/infer", body, headers)
                            .response()
                            .status())
                    .isEqualTo(expected);
        }
    }

    private void ask(ManagedChannel channel, ModelInferRequest request, boolean succeeds) throws Exception {
        var status = GrpcClient.ask(channel, "ModelInfer", new Metadata(), request.toByteArray())
                .status();
        assertThat(status.isOk()).as(status.toString()).isEqualTo(succeeds);
    }

    private static List<JsonNode> lines(Path file) throws IOException {
        List<JsonNode> lines = new ArrayList<>();
        if (Files.exists(file)) {
            for (String line : Files.readAllLines(file)) {
                lines.add(JSON.readTree(line));
            }
        }
        return lines;
    }

    @Test
    void restCall_isTwoEventsWithOneId() throws Exception {
        start(Map.of());
        post(
                "m",
                Infer.json("a", 7),
                200,
                "X-Request-Id: r-1",
                "Authorization: Bearer secret",
                "Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
        EventPair events = sink.pair();
        SentEvent request = events.request();
        SentEvent response = events.response();
        assertThat(request.text()).isEqualTo(Infer.json("a", 7));
        assertThat(response.text()).isEqualTo(Infer.responseJson("m", "a", 7));
        for (SentEvent each : events.both()) {
            assertThat(each.attribute("id")).isEqualTo("r-1");
            assertThat(each.attribute("inferenceservicename")).isEqualTo("m");
            assertThat(each.attribute("namespace")).isEqualTo("default");
            assertThat(each.attribute("component")).isEqualTo("predictor");
            assertThat(each.attribute("endpoint")).isEqualTo("default");
            assertThat(each.attribute("protocol")).isEqualTo("rest");
            assertThat(each.attribute("traceparent")).startsWith("00-0af7651916cd43dd8448eb211c80319c");
            assertThat(each.headers()).containsEntry("content-type", "application/json");
            assertThat(each.headers().toString() + each.text()).doesNotContain("secret");
        }
        assertThat(response.attribute("code")).isEqualTo("OK");
        assertThat(request.attributes()).doesNotContainKey("code");
    }

    @Test
    void grpcCall_isTwoEvents_withBinaryData() throws Exception {
        start(Map.of("form", PayloadForm.BINARY));
        ask(channel(), Infer.request("m", "a", 7), true);
        SentEvent request = sink.pair().request();
        int json = Integer.parseInt(request.header("inference-header-content-length"));
        assertThat(request.attribute("jsonlength")).isEqualTo(Integer.toString(json));
        assertThat(request.headers()).containsEntry("content-type", "application/octet-stream");
        assertThat(request.attribute("protocol")).isEqualTo("grpc");
        assertThat(request.data()).hasSize(json + 4).endsWith(7, 0, 0, 0);
        assertThat(request.text()).contains("\"binary_data_size\":4");
    }

    @Test
    void stream_isAnEventForEachMessage() throws Exception {
        start(Map.of("models", Map.of("n", 0.0)));
        GrpcClient stream = GrpcClient.open(channel(), "ModelStreamInfer");
        for (int i = 1; i <= 2; i++) {
            stream.send(Infer.request("m", "s" + i, i).toByteArray());
            stream.send(Infer.request("n", "not", i).toByteArray());
            stream.response();
            stream.response();
        }
        stream.send(Infer.request("unknown", "u", 1).toByteArray());
        stream.response();
        stream.end();
        assertThat(stream.status().isOk()).isTrue();
        Map<String, SentEvent> events = new HashMap<>();
        for (int i = 0; i < 6; i++) {
            SentEvent event = sink.next();
            events.put(event.type() + event.attribute("id").replaceAll(".*-", "-"), event);
        }
        assertThat(events.keySet()).contains("request-1", "request-3", "request-5", "response-5");
        assertThat(Objects.requireNonNull(events.get("request-3")).text()).contains("\"id\":\"s2\"");
        assertThat(Objects.requireNonNull(events.get("response-5")).attribute("code"))
                .isEqualTo("NOT_FOUND");
        assertThat(events.values()).noneMatch(event -> event.text().contains("not"));
    }

    /** Another model's share would decide about its text. */
    @Test
    void errorOfAMessage_isThatOfItsModel() throws Exception {
        server.close();
        CompletableFuture<ServerCall<byte[], byte[]>> waiting = new CompletableFuture<>();
        server = new FakeGrpcServer((call, message) -> {
            ModelInferRequest request = Infer.request(message);
            if (request.getId().equals("bad")) {
                waiting.complete(call);
            } else {
                call.sendMessage(Infer.enveloped(Infer.responseTo(request, 7)));
                waiting.thenAccept(other -> other.sendMessage(Infer.error("it failed", "bad")));
            }
        });
        start(Map.of("events", PayloadEvents.RESPONSE));
        GrpcClient stream = GrpcClient.open(channel(), "ModelStreamInfer");
        stream.send(Infer.request("m", "bad", 1).toByteArray());
        stream.send(Infer.request("n", "good", 1).toByteArray());
        stream.response();
        stream.response();
        stream.end();
        Map<String, String> models = new HashMap<>();
        for (int i = 0; i < 2; i++) {
            SentEvent event = sink.next();
            models.put(event.attribute("code"), event.attribute("inferenceservicename"));
        }
        assertThat(models).containsEntry("OK", "n").containsValue("m");
    }

    @Test
    void failedCalls_haveTheirCode() throws Exception {
        start(Map.of());
        post("lost", Infer.json("a", 7), 503);
        SentEvent response = sink.pair().response();
        assertThat(response.attribute("code")).isEqualTo("UNAVAILABLE");
        assertThat(JSON.readTree(response.data()).path("error").asText()).contains("gone");
        post("m", "{\"inputs\":7}", 400);
        EventPair invalid = sink.pair();
        assertThat(invalid.response().attribute("code")).isEqualTo("INVALID_ARGUMENT");
        assertThat(invalid.request().attribute("dataomitted")).isIn("unreadable", "incomplete");
    }

    @Test
    void onlyConfiguredEvents_areSent() throws Exception {
        start(Map.of("events", PayloadEvents.RESPONSE));
        post("m", Infer.json("a", 7), 200);
        assertThat(sink.next().type()).isEqualTo("response");
        gateway().reload(gatewayConfig(config(Map.of("events", PayloadEvents.REQUEST))));
        post("m", Infer.json("b", 7), 200);
        assertThat(sink.next().type()).isEqualTo("request");
        gateway().close();
        assertThat(sink.waiting()).isZero();
    }

    @Test
    void share_isThatOfTheModel() throws Exception {
        start(Map.of("sample", 0.0, "models", Map.of("m*", 1.0)));
        for (int i = 0; i < 5; i++) {
            post("n", Infer.json("a", i), 200);
        }
        post("m", Infer.json("b", 7), 200);
        gateway().close();
        assertThat(sink.pair().request().text()).isEqualTo(Infer.json("b", 7));
        assertThat(sink.waiting()).isZero();
    }

    @Test
    void omittedTensors_areNotSent() throws Exception {
        start(Map.of("omit", new OmittedPayload(Set.of("INPUT0"), Set.of())));
        post("m", Infer.json("a", 7), 200);
        EventPair events = sink.pair();
        assertThat(events.request().text()).isEqualTo("{\"id\":\"a\",\"inputs\":[]}");
        assertThat(events.request().attribute("tensorsomitted")).isEqualTo("true");
        assertThat(events.response().text()).isEqualTo(Infer.responseJson("m", "a", 7));
    }

    /** Requests and responses of this size pass in parts. */
    @Test
    void largePayloads_areLogged_orLeftOutByTheirSize() throws Exception {
        int bytes = 3 << 20;
        start(Map.of("form", PayloadForm.BINARY, "maxSize", 4 << 20));
        ModelInferRequest large = Infer.request("m", "a", 7).toBuilder()
                .clearRawInputContents()
                .addRawInputContents(ByteString.copyFrom(new byte[bytes]))
                .setInputs(
                        0,
                        ModelInferRequest.InferInputTensor.newBuilder()
                                .setName("INPUT0")
                                .setDatatype("INT32")
                                .addShape(bytes / 4))
                .build();
        ManagedChannel channel = channel();
        ask(channel, large, true);
        for (SentEvent event : sink.pair().both()) {
            assertThat(event.data().length).as(event.type()).isGreaterThan(bytes);
        }
        gateway().reload(gatewayConfig(config(Map.of("maxSize", 1 << 20))));
        ask(channel, large, true);
        for (SentEvent event : sink.pair().both()) {
            assertThat(event.attribute("dataomitted")).isEqualTo("size");
            assertThat(Integer.parseInt(event.attribute("payloadsize"))).isGreaterThan(bytes);
            assertThat(event.data()).isEmpty();
        }
        assertThat(counted("isthmus.payload.log.events.without.data", "size")).isEqualTo(2);
    }

    @Test
    void sinkThatIsGone_costsNoCall_andIsCounted() throws Exception {
        start(Map.of("url", "http://" + TestConfigs.unusedEndpoint().authority() + "/"));
        post("m", Infer.json("a", 7), 200);
        await().until(() -> counted("isthmus.payload.log.dropped.events", "io_error") == 2);
    }

    @Test
    void sinkThatRefuses_isCounted() throws Exception {
        start(Map.of());
        sink.respond(500);
        post("m", Infer.json("a", 7), 200);
        await().until(() -> counted("isthmus.payload.log.dropped.events", "rejected") == 2);
        sink.respond(202);
        post("m", Infer.json("a", 7), 200);
        await().until(() ->
                gateway().meters().get("isthmus.payload.log.events").counter().count() == 2);
    }

    @Test
    void sinkOverTls_needsACertificateThatIsVouchedFor() throws Exception {
        TestAuthority authority = new TestAuthority(directory, "ca");
        try (EventCollector secure =
                new EventCollector(authority.issue("sink", "localhost").server())) {
            start(Map.of("url", secure.url()));
            post("m", Infer.json("a", 7), 200);
            await().until(() -> counted("isthmus.payload.log.dropped.events", "io_error") == 2);
            gateway().reload(gatewayConfig(config(Map.of("url", secure.url(), "ca", authority.ca()))));
            post("m", Infer.json("b", 7), 200);
            assertThat(secure.pair().request().text()).isEqualTo(Infer.json("b", 7));
        }
    }

    /** As it may be between the check of a configuration and its start, while local models are loaded. */
    @Test
    void certificatesThatCannotBeRead_costEvents_andNotTheStart() throws Exception {
        TestAuthority authority = new TestAuthority(directory, "ca");
        Path late = directory.resolve("late.pem");
        try (EventCollector secure =
                new EventCollector(authority.issue("sink", "localhost").server())) {
            start(Map.of("url", secure.url(), "ca", late));
            post("m", Infer.json("a", 7), 200);
            await().until(() -> counted("isthmus.payload.log.dropped.events", "io_error") == 2);
            Files.copy(authority.ca(), late);
            post("m", Infer.json("b", 7), 200);
            assertThat(secure.pair().request().text()).isEqualTo(Infer.json("b", 7));
        }
    }

    @Test
    void slowSink_costsNoCall_andWhatDoesNotFitIsDropped() throws Exception {
        sink.hold();
        start(Map.of("maxQueued", 16 << 10, "maxSize", 16 << 10));
        int calls = 100;
        try (Http1Client client = client()) {
            for (int i = 0; i < calls; i++) {
                assertThat(client.post(INFER, Infer.json("a", i)).response().status())
                        .isEqualTo(200);
            }
        }
        assertThat(counted("isthmus.payload.log.dropped.events", "full")).isPositive();
        sink.release();
        // Where the calls took longer than the sink has time, it may have lost some.
        await().until(() ->
                gateway().meters().get("isthmus.payload.log.events").counter().count()
                                + counted("isthmus.payload.log.dropped.events", "full")
                                + counted("isthmus.payload.log.dropped.events", "io_error")
                        == 2 * calls);
        await().until(() ->
                gateway().meters().get("isthmus.payload.log.queued").gauge().value() == 0);
    }

    @Test
    void gatewayThatEnds_sendsWhatIsLeft() throws Exception {
        start(Map.of());
        for (int i = 0; i < 20; i++) {
            post("m", Infer.json("a", i), 200);
        }
        gateway().close();
        assertThat(sink.waiting()).isEqualTo(40);
    }

    @Test
    void file_hasALineForEachEvent_andIsRenamedWhenFull() throws Exception {
        Path file = directory.resolve("payloads.jsonl");
        start(Map.of("file", file, "events", PayloadEvents.REQUEST, "rotateAt", 1, "keep", 1));
        for (int i = 0; i < 3; i++) {
            post("m", Infer.json("a", i), 200);
        }
        gateway().close();
        assertThat(directory.toFile().list()).containsExactlyInAnyOrder("payloads.jsonl", "payloads.jsonl.1");
        JsonNode line = lines(file).getFirst();
        assertThat(line.path("data")).isEqualTo(JSON.readTree(Infer.json("a", 2)));
        assertThat(line.path("type").asText()).isEqualTo("org.kubeflow.serving.inference.request");
        assertThat(line.path("datacontenttype").asText()).isEqualTo("application/json");
    }

    @Test
    void fileThatCannotBeWritten_costsNoCall_andIsCounted() throws Exception {
        Path missing = directory.resolve("missing");
        Path file = missing.resolve("payloads.jsonl");
        start(Map.of("file", file));
        post("m", Infer.json("a", 7), 200);
        await().until(() -> counted("isthmus.payload.log.dropped.events", "io_error") == 2);
        Files.createDirectory(missing);
        // What a full disk leaves behind.
        Files.writeString(file, "{\"specversion\":");
        post("m", Infer.json("a", 7), 200);
        await().untilAsserted(() -> assertThat(Files.readAllLines(file)).hasSize(3));
        assertThat(JSON.readTree(Files.readAllLines(file).get(1)).path("data").isObject())
                .isTrue();
    }

    @Test
    void fullDisk_costsNoCall_andIsCounted() throws Exception {
        start(Map.of("file", Path.of("/dev/full")));
        post("m", Infer.json("a", 7), 200);
        await().until(() -> counted("isthmus.payload.log.dropped.events", "io_error") == 2);
    }

    @Test
    void reload_turnsItOnAndOff() throws Exception {
        running = ProxyServer.start(gatewayConfig(null));
        post("m", Infer.json("a", 1), 200);
        gateway().reload(gatewayConfig(config(Map.of())));
        post("m", Infer.json("b", 2), 200);
        assertThat(sink.pair().request().text()).isEqualTo(Infer.json("b", 2));
        gateway().reload(gatewayConfig(null));
        post("m", Infer.json("c", 3), 200);
        gateway().close();
        assertThat(sink.waiting()).isZero();
    }

    /** Bodies of one byte a part, and clients that leave. */
    @Test
    void requestThatEndsEarly_isAnEventWithoutData() throws Exception {
        start(Map.of());
        try (Http1Client client = client()) {
            client.send("POST " + INFER + " HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{\"inputs\"");
            await().until(() -> gateway().meters().get("isthmus.requests.under.way").gauges().stream()
                    .anyMatch(gauge -> gauge.value() > 0));
        }
        EventPair events = sink.pair();
        assertThat(events.request().attribute("dataomitted")).isEqualTo("incomplete");
        assertThat(events.response().attribute("code")).isEqualTo("CANCELLED");
    }
}
