package dev.isthmus.gateway.flow;

import static dev.isthmus.gateway.upstream.FakeRestServer.ok;
import static dev.isthmus.gateway.upstream.FakeRestServer.write;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.gateway.upstream.FakeRestServer;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.proto.ModelInferResponse;
import io.grpc.CallOptions;
import io.grpc.Metadata;
import io.grpc.Status;
import io.micrometer.core.instrument.FunctionCounter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Responses to other requests than the one that was sent, as a server sends them that is out of step. */
class ForeignResponsesTest {
    private static final String PATH = "/v2/models/m/infer";

    private final List<AutoCloseable> open = new ArrayList<>();
    /** Changes a right response. */
    private final AtomicReference<Function<ModelInferResponse, ModelInferResponse>> fault =
            new AtomicReference<>(Function.identity());

    @AfterEach
    void stop() throws Exception {
        for (AutoCloseable one : open.reversed()) {
            one.close();
        }
    }

    private <T extends AutoCloseable> T opened(T one) {
        open.add(one);
        return one;
    }

    private FakeGrpcServer grpc() throws Exception {
        return opened(CachedStage.server((message, call) -> FakeGrpcServer.respond(
                call,
                fault.get().apply(CachedStage.response(Infer.request(message))).toByteArray())));
    }

    private void respond(String id, String model) {
        fault.set(right -> right.toBuilder().setId(id).setModelName(model).build());
    }

    private static GrpcClient call(Stage stage, ModelInferRequest request) {
        return GrpcClient.ask(stage.channel(), "ModelInfer", new Metadata(), request.toByteArray());
    }

    private static Http1Client.Response post(Stage stage, String json) throws Exception {
        try (Http1Client client = stage.http1()) {
            return client.post(PATH, json).response();
        }
    }

    private void expectRefused(Stage stage) throws Exception {
        GrpcClient client = call(stage, Infer.request("m", "mine-1", 1));
        assertThat(client.status().getCode()).isEqualTo(Status.Code.INTERNAL);
        assertThat(post(stage, Infer.json("mine-1", 1)).status()).isEqualTo(502);
    }

    private void expectServed(Stage stage) throws Exception {
        GrpcClient client = call(stage, Infer.request("m", "mine-1", 1));
        assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
        assertThat(Infer.response(client.response()).getRawOutputContentsList()).hasSize(1);
        assertThat(post(stage, Infer.json("mine-1", 1)).status()).isEqualTo(200);
    }

    @ParameterizedTest
    @CsvSource({"someone-else, m", "mine-1, other", "mine-11, m", "Mine-1, m", "mine-1, m_other"})
    void grpcServer_thatIsOutOfStep_isNotBelieved(String id, String model) throws Exception {
        respond(id, model);
        expectRefused(opened(Stage.of(Stage.grpc(grpc(), ServerDialect.GENERIC))));
    }

    /** An id or a name that is missing says nothing, and some servers append a version. */
    @ParameterizedTest
    @CsvSource({"'', m", "mine-1, ''", "mine-1, M", "mine-1, m_1", "mine-1, m:v2.0"})
    void whatServersDoRightly_isAccepted(String id, String model) throws Exception {
        respond(id, model);
        expectServed(opened(Stage.of(Stage.grpc(grpc(), ServerDialect.GENERIC))));
    }

    /** The code of a model writes the name there, and often another one. */
    @ParameterizedTest
    @CsvSource({"MLSERVER", "KSERVE"})
    void nameWrittenByTheModelsCode_isNotCompared(ServerDialect dialect) throws Exception {
        respond("mine-1", "a-name-of-its-own");
        expectServed(opened(Stage.of(Stage.grpc(grpc(), dialect))));
    }

    @Test
    void requestWithoutId_hasNothingToCompare() throws Exception {
        respond("made-by-the-server", "m");
        Stage stage = opened(Stage.of(Stage.grpc(grpc(), ServerDialect.GENERIC)));
        GrpcClient client = call(stage, Infer.request("m", "", 1));
        assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
        assertThat(post(stage, Infer.json("", 1).replace("\"id\":\"\",", "")).status())
                .isEqualTo(200);
    }

    private static UpstreamConfig rest(FakeRestServer server) {
        return Stage.rest(server, ServerDialect.GENERIC);
    }

    private FakeRestServer rest(String json) throws Exception {
        return opened(FakeRestServer.that((request, out) -> {
            write(out, ok(request.head().startsWith("POST ") ? json : "{}"));
            return true;
        }));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{\"model_name\":\"m\",\"id\":\"someone-else\",\"outputs\":[]}",
                "{\"id\":\"mine-1\",\"model_name\":\"other\",\"outputs\":[]}",
                "{\"outputs\":[{\"name\":\"o\",\"datatype\":\"INT32\",\"shape\":[1],\"data\":[1]}], \"id\" : \"other\"}",
                "{\"id\":\"mine\\u002d2\",\"outputs\":[]}"
            })
    void restServer_thatIsOutOfStep_isNotBelieved_andItsConnectionIsClosed(String json) throws Exception {
        FakeRestServer server = rest(json);
        Stage stage = opened(Stage.of(rest(server)));
        GrpcClient client = call(stage, Infer.request("m", "mine-1", 1));
        assertThat(client.status().getCode()).isEqualTo(Status.Code.INTERNAL);
        server.awaitConnectionClosed();
        assertThat(post(stage, Infer.json("mine-1", 1)).status()).isEqualTo(502);
        server.awaitConnectionClosed();
    }

    @Test
    void restServer_mayEscapeTheId() throws Exception {
        String json = "{\"id\":\"mine\\u002d1\",\"model_name\":\"m\",\"outputs\":"
                + "[{\"name\":\"o\",\"datatype\":\"INT32\",\"shape\":[1],\"data\":[1]}]}";
        Stage stage = opened(Stage.of(rest(rest(json))));
        expectServed(stage);
    }

    @Test
    void grpcConnection_isNotUsedAgain() throws Exception {
        FakeGrpcServer server = grpc();
        Stage stage = opened(Stage.of(Stage.grpc(server, ServerDialect.GENERIC)));
        expectServed(stage);
        double before = closed(stage);
        respond("someone-else", "m");
        assertThat(call(stage, Infer.request("m", "mine-1", 1)).status().getCode())
                .isEqualTo(Status.Code.INTERNAL);
        await().atMost(Duration.ofSeconds(20)).until(() -> closed(stage) > before);
        fault.set(Function.identity());
        expectServed(stage);
    }

    private static double closed(Stage stage) {
        return stage
                .proxy()
                .meters()
                .find("isthmus.endpoint.connections.closed")
                .tag("cause", "gateway")
                .functionCounters()
                .stream()
                .mapToDouble(FunctionCounter::count)
                .sum();
    }

    @Test
    void cache_keepsNothing_andWhoeverWaitsGetsNothing() throws Exception {
        CachedStage stage = opened(CachedStage.of(Stage.grpc(grpc(), ServerDialect.GENERIC), Map.of()));
        respond("someone-else", "m");
        for (int i = 0; i < 2; i++) {
            assertThat(call(stage.stage(), Infer.request("m", "mine-" + i, 1))
                            .status()
                            .getCode())
                    .isEqualTo(Status.Code.INTERNAL);
            assertThat(stage.post(Infer.json("mine-" + i, 1)).status()).isEqualTo(502);
        }
        assertThat(stage.count("hit")).isZero();
    }

    /** Large responses are forwarded while they arrive. */
    @Test
    void responseInParts_isRefusedBeforeItsFirstByte() throws Exception {
        Stage stage = opened(Stage.of(Stage.grpc(grpc(), ServerDialect.GENERIC)));
        ModelInferRequest large = ModelInferRequest.newBuilder()
                .setModelName("m")
                .setId("mine-1")
                .addInputs(ModelInferRequest.InferInputTensor.newBuilder()
                        .setName("in")
                        .setDatatype("UINT8")
                        .addShape(3 << 20))
                .addRawInputContents(ByteString.copyFrom(new byte[3 << 20]))
                .build();
        assertThat(call(stage, large).status().getCode()).isEqualTo(Status.Code.OK);
        respond("someone-else", "m");
        assertThat(call(stage, large).status().getCode()).isEqualTo(Status.Code.INTERNAL);
    }

    @Test
    void streamsResponse_withAnIdThatNoRequestHas_endsTheServersStream() throws Exception {
        FakeGrpcServer server = opened(new FakeGrpcServer((call, message) -> {
            ModelInferRequest request = Infer.request(message);
            ModelInferResponse right = Infer.responseTo(request, 1);
            call.sendMessage(Infer.enveloped(
                    request.getId().equals("b") ? right.toBuilder().setId("x").build() : right));
        }));
        Stage stage = opened(Stage.of(Stage.grpc(server, ServerDialect.TRITON)));
        GrpcClient client = GrpcClient.open(
                stage.channel(), "ModelStreamInfer", new Metadata(), CallOptions.DEFAULT, Integer.MAX_VALUE);
        client.send(Infer.request("m", "a", 1).toByteArray());
        assertThat(Infer.envelope(client.response()).getInferResponse().getId()).isEqualTo("a");
        client.send(Infer.request("m", "b", 1).toByteArray());
        assertThat(Infer.envelope(client.response()).getErrorMessage()).isNotEmpty();
        client.send(Infer.request("m", "c", 1).toByteArray());
        assertThat(Infer.envelope(client.response()).getInferResponse().getId()).isEqualTo("c");
        client.end();
        assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
    }
}
