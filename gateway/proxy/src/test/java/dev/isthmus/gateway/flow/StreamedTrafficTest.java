package dev.isthmus.gateway.flow;

import static dev.isthmus.gateway.upstream.FakeRestServer.ok;
import static dev.isthmus.gateway.upstream.FakeRestServer.write;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.ramp.RampReport;
import dev.isthmus.gateway.ramp.RampState;
import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.GatewayConfig.HealthConfig;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.gateway.upstream.FakeRestServer;
import dev.isthmus.proto.ModelInferRequest;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Timer;
import java.io.IOException;
import java.io.OutputStream;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Target meters, ramps and shadows see each request of each kind of inference. */
class StreamedTrafficTest {
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final String STREAM = "ModelStreamInfer";
    private static final int REQUESTS = 200;
    /** In the midst of a response. */
    private static final String ERROR = "error";
    /** With a status, before or instead of a response. */
    private static final String STATUS = "status";

    private static final String EVENTS = String.join(
            "\r\n",
            "HTTP/1.1 200 OK",
            "Content-Type: text/event-stream; charset=utf-8",
            "Connection: close",
            "",
            "data: {\"text_output\":\"a\"}\n\n");

    /** One kind of inference. */
    enum Flow {
        UNARY(false) {
            @Override
            void send(Stage stage, String id, int count) throws Exception {
                for (int i = 0; i < count; i++) {
                    GrpcClient.ask(stage.channel(), "ModelInfer", new Metadata(), request(id))
                            .status();
                }
            }
        },
        MODEL_STREAM(false) {
            @Override
            void send(Stage stage, String id, int count) throws Exception {
                GrpcClient client = GrpcClient.open(stage.channel(), STREAM);
                for (int i = 0; i < count; i++) {
                    client.send(request(id));
                    Infer.envelope(client.response());
                }
                client.end();
                assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
            }
        },
        INFER_EVENTS(false) {
            @Override
            void send(Stage stage, String id, int count) throws Exception {
                for (int i = 0; i < count; i++) {
                    try (Http1Client client = stage.http1()) {
                        client.post("/v2/models/m/infer_stream", Infer.json(id, 1), "Connection: close")
                                .rest();
                    }
                }
            }
        },
        GENERATE(true) {
            @Override
            void send(Stage stage, String id, int count) throws Exception {
                generate(stage, "/v2/models/m/generate", id, count);
            }
        },
        GENERATE_EVENTS(true) {
            @Override
            void send(Stage stage, String id, int count) throws Exception {
                generate(stage, "/v2/models/m/generate_stream", id, count);
            }
        };

        private final boolean rest;

        Flow(boolean rest) {
            this.rest = rest;
        }

        abstract void send(Stage stage, String id, int count) throws Exception;

        private static byte[] request(String id) {
            return Infer.request("m", id, 1).toByteArray();
        }

        private static void generate(Stage stage, String path, String id, int count) throws Exception {
            for (int i = 0; i < count; i++) {
                try (Http1Client client = stage.http1()) {
                    client.post(path, "{\"text_input\":\"" + id + "\"}", "Connection: close")
                            .rest();
                }
            }
        }
    }

    /** The id of a request says how it ends. */
    private static final class Scripted implements FakeGrpcServer.Script {
        @Override
        public void message(ServerCall<byte[], byte[]> call, byte[] message) {
            ModelInferRequest request = Infer.request(message);
            boolean stream = call.getMethodDescriptor().getFullMethodName().endsWith(STREAM);
            switch (request.getId()) {
                case ERROR -> call.sendMessage(Infer.error("it broke", ERROR));
                case "silent" -> {}
                case STATUS -> call.close(Status.INTERNAL.withDescription("it broke"), new Metadata());
                default -> {
                    call.sendMessage(
                            stream
                                    ? Infer.enveloped(Infer.responseTo(request, 1))
                                    : Infer.responseTo(request, 1).toByteArray());
                }
            }
        }
    }

    private FakeGrpcServer grpc;
    private FakeRestServer rest;

    @BeforeEach
    void start() throws Exception {
        grpc = new FakeGrpcServer(new Scripted());
        rest = FakeRestServer.that(StreamedTrafficTest::generated);
    }

    @AfterEach
    void stop() throws Exception {
        grpc.close();
        rest.close();
    }

    private static boolean generated(FakeRestServer.RestRequest request, OutputStream out) throws IOException {
        if (request.body().contains(STATUS)) {
            write(out, "HTTP/1.1 500 No\r\nContent-Length: 17\r\n\r\n{\"error\":\"broke\"}");
            return true;
        }
        if (!request.head().contains("generate_stream")) {
            write(out, ok("{\"text_output\":\"a\"}"));
            return true;
        }
        write(out, EVENTS);
        if (request.body().contains(ERROR)) {
            write(out, "data: {\"error\":\"it broke\"}\n\n");
        }
        return false;
    }

    /** With a ramp whose only step gives everything to the target "new". */
    private Stage stage(Flow flow, int minimum) throws Exception {
        ModelConfig.RampConfig ramp = TestConfigs.with(
                DefaultValues.of(ModelConfig.RampConfig.class),
                Map.of(
                        "target",
                        "new",
                        "steps",
                        List.of(1.0),
                        "interval",
                        Duration.ofMillis(1),
                        "minimumRequests",
                        minimum));
        return stage(flow, Map.of("ramp", ramp));
    }

    private Stage stage(Flow flow, Map<String, ?> changes) throws Exception {
        ModelConfig targets = ModelConfig.of(List.of(
                new ModelConfig.TargetConfig("old", "server", null, null, 0),
                new ModelConfig.TargetConfig("new", "server", null, null, 100)));
        return Stage.fleet(
                Map.of(
                        "server",
                        flow.rest ? Stage.rest(rest, ServerDialect.TRITON) : Stage.grpc(grpc, ServerDialect.TRITON)),
                Map.of("m", TestConfigs.with(targets, changes)),
                DefaultValues.of(HealthConfig.class),
                null);
    }

    private static double count(Stage stage, String outcome) {
        return stage.proxy()
                .meters()
                .get("isthmus.target.requests")
                .tag("target", "new")
                .tag("outcome", outcome)
                .counter()
                .count();
    }

    private static RampReport ramp(Stage stage) {
        return stage.proxy().ramps().reports().getFirst();
    }

    private static void awaitState(Stage stage, RampState state) {
        await().atMost(PATIENCE)
                .untilAsserted(() -> assertThat(ramp(stage).state()).isEqualTo(state));
    }

    @ParameterizedTest
    @EnumSource(Flow.class)
    void goodRequests_advanceTheRamp(Flow flow) throws Exception {
        try (Stage stage = stage(flow, REQUESTS)) {
            flow.send(stage, "good", REQUESTS);
            await().atMost(PATIENCE)
                    .untilAsserted(() -> assertThat(count(stage, "ok")).isEqualTo(REQUESTS));
            awaitState(stage, RampState.COMPLETE);
            assertThat(stage.proxy()
                            .meters()
                            .get("isthmus.target.answer")
                            .tag("target", "new")
                            .timer()
                            .count())
                    .isEqualTo(REQUESTS);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "UNARY, status",
        "MODEL_STREAM, error",
        "MODEL_STREAM, status",
        "INFER_EVENTS, error",
        "INFER_EVENTS, status",
        "GENERATE, status",
        "GENERATE_EVENTS, error",
        "GENERATE_EVENTS, status"
    })
    void failedRequests_rollTheRampBack(Flow flow, String failure) throws Exception {
        try (Stage stage = stage(flow, 1_000_000)) {
            flow.send(stage, failure, 20);
            awaitState(stage, RampState.ROLLED_BACK);
            assertThat(count(stage, "server_error")).isEqualTo(20);
            assertThat(count(stage, "ok")).isZero();
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Flow.class,
            names = {"MODEL_STREAM", "INFER_EVENTS", "GENERATE_EVENTS"})
    void errorsWithinAResponse_countForTheModel(Flow flow) throws Exception {
        try (Stage stage = stage(flow, Map.of())) {
            flow.send(stage, "good", 3);
            flow.send(stage, ERROR, 5);
            await().atMost(PATIENCE).untilAsserted(() -> {
                assertThat(calls(stage, "OK")).isEqualTo(3);
                assertThat(calls(stage, "UNKNOWN")).isEqualTo(5);
            });
        }
    }

    @Test
    void requestsOfAStream_countForTheServer() throws Exception {
        try (Stage stage = stage(Flow.MODEL_STREAM, Map.of())) {
            Flow.MODEL_STREAM.send(stage, "good", 3);
            Flow.MODEL_STREAM.send(stage, ERROR, 5);
            // Each stream is an attempt, too.
            await().atMost(PATIENCE).untilAsserted(() -> {
                assertThat(attempts(stage, "answered")).isEqualTo(3 + 2);
                assertThat(attempts(stage, "error")).isEqualTo(5);
            });
        }
    }

    @Test
    void unreadableMessage_isARefusedRequest() throws Exception {
        try (Stage stage = stage(Flow.MODEL_STREAM, Map.of())) {
            GrpcClient client = GrpcClient.open(stage.channel(), STREAM);
            client.send(new byte[] {-1});
            assertThat(Infer.envelope(client.response()).getErrorMessage()).isNotEmpty();
            client.end();
            assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
            assertThat(stage.proxy()
                            .meters()
                            .get("isthmus.requests.failed")
                            .tag("cause", "invalid")
                            .counter()
                            .count())
                    .isEqualTo(1);
        }
    }

    private static long calls(Stage stage, String code) {
        return stage.proxy().meters().find("isthmus.requests").tags("model", "m", "code", code).timers().stream()
                .mapToLong(Timer::count)
                .sum();
    }

    private static double attempts(Stage stage, String outcome) {
        return stage.proxy()
                .meters()
                .get("isthmus.endpoint.requests")
                .tag("outcome", outcome)
                .functionTimer()
                .count();
    }

    @ParameterizedTest
    @EnumSource(Flow.class)
    void sampledRequests_areCountedByTheShadow(Flow flow) throws Exception {
        ModelConfig.ShadowConfig shadow = TestConfigs.with(
                DefaultValues.of(ModelConfig.ShadowConfig.class),
                Map.of("name", "next", "upstream", "server", "version", "2"));
        try (Stage stage = stage(flow, Map.of("shadow", List.of(shadow)))) {
            flow.send(stage, "good", 3);
            await().atMost(PATIENCE)
                    .untilAsserted(
                            () -> assertThat(stage.proxy().meters().get("isthmus.shadow.requests").counters().stream()
                                            .mapToDouble(Counter::count)
                                            .sum())
                                    .isEqualTo(3));
        }
    }

    @ParameterizedTest
    @EnumSource(Flow.class)
    void fallback_takesOver(Flow flow) throws Exception {
        ModelConfig broken = TestConfigs.with(
                ModelConfig.of("gone"),
                Map.of(
                        "fallback",
                        TestConfigs.with(DefaultValues.of(ModelConfig.Fallback.class), Map.of("upstream", "server"))));
        UpstreamConfig server =
                flow.rest ? Stage.rest(rest, ServerDialect.TRITON) : Stage.grpc(grpc, ServerDialect.TRITON);
        UpstreamConfig gone = TestConfigs.upstream(server.protocol(), TestConfigs.unusedEndpoint());
        try (Stage stage = Stage.fleet(
                Map.of("server", server, "gone", gone),
                Map.of("m", broken),
                DefaultValues.of(HealthConfig.class),
                null)) {
            flow.send(stage, "good", 1);
            await().atMost(PATIENCE)
                    .untilAsserted(() -> assertThat(stage.proxy()
                                    .meters()
                                    .find("isthmus.requests")
                                    .tag("model", "m")
                                    .timers())
                            .singleElement()
                            .satisfies(timer ->
                                    assertThat(timer.getId().getTag("code")).isEqualTo("OK")));
        }
    }

    @Test
    void unfinishedRequests_ofAStreamThatIsCancelled_areNotCounted() throws Exception {
        try (Stage stage = stage(Flow.MODEL_STREAM, 1)) {
            GrpcClient client = GrpcClient.open(stage.channel(), STREAM);
            client.send(Infer.request("m", "good", 1).toByteArray());
            client.response();
            client.send(Infer.request("m", "silent", 1).toByteArray());
            FakeGrpcServer.next(grpc.messages);
            FakeGrpcServer.next(grpc.messages);
            client.cancel();
            grpc.awaitCancelled();
            await().atMost(PATIENCE)
                    .untilAsserted(() -> assertThat(count(stage, "ok")).isEqualTo(1));
            assertThat(count(stage, "client_error") + count(stage, "server_error"))
                    .isZero();
        }
    }
}
