package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.settings.GatewayConfig.BinaryTensorData;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.gateway.upstream.FakeRestServer;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.proto.ModelInferResponse;
import io.grpc.Metadata;
import io.grpc.Status;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A request without inputs: whether the model requires inputs is for the server to decide. */
class NoInputsTest {
    private FakeGrpcServer grpc;
    private FakeRestServer rest;
    private Stage stage;
    private Http1Client http1;

    @BeforeEach
    void start() throws Exception {
        grpc = new FakeGrpcServer((call, message) -> call.sendMessage(
                Infer.responseTo(Infer.request(message), Infer.number(9)).toByteArray()));
        rest = FakeRestServer.sending(FakeRestServer.ok("{\"model_name\":\"\",\"outputs\":[{\"name\":\"OUTPUT0\","
                + "\"datatype\":\"INT32\",\"shape\":[1],\"data\":[9]}]}"));
        stage = new Stage(
                Map.of(
                        "grpc",
                        Stage.grpc(grpc, ServerDialect.TRITON),
                        "rest",
                        Stage.rest(rest, ServerDialect.MLSERVER),
                        "binary",
                        Stage.upstream(
                                UpstreamProtocol.REST,
                                rest.endpoint(),
                                ServerDialect.TRITON,
                                BinaryTensorData.TRUE,
                                false)),
                Map.of(
                        "grpc", ModelConfig.of("grpc"),
                        "rest", ModelConfig.of("rest"),
                        "binary", ModelConfig.of("binary"),
                        "simple", ModelConfig.of("local"),
                        "digits", ModelConfig.of("local")),
                null,
                true);
        http1 = stage.http1();
    }

    @AfterEach
    void stop() throws Exception {
        http1.close();
        stage.close();
        grpc.close();
        rest.close();
    }

    private void expectArrived(String model) throws Exception {
        if (model.equals("grpc")) {
            ModelInferRequest arrived = Infer.request(FakeGrpcServer.next(grpc.messages));
            assertThat(arrived.getInputsCount()).isZero();
            assertThat(arrived.getRawInputContentsCount()).isZero();
        } else {
            FakeRestServer.RestRequest seen = Stage.posted(rest);
            assertThat(seen.body()).contains("\"inputs\":[]");
            assertThat(seen.head()).doesNotContainIgnoringCase("inference-header-content-length");
        }
    }

    private GrpcClient ask(String model) {
        return GrpcClient.ask(
                stage.channel(),
                "ModelInfer",
                new Metadata(),
                ModelInferRequest.newBuilder().setModelName(model).build().toByteArray());
    }

    @ParameterizedTest
    @ValueSource(strings = {"grpc", "rest", "binary"})
    void ofAGrpcClient_goesOn(String model) throws Exception {
        GrpcClient call = ask(model);
        assertThat(call.status().getCode()).isEqualTo(Status.Code.OK);
        ModelInferResponse response = Infer.response(call.response());
        // Contents are typed only for clients that sent such.
        assertThat(response.getRawOutputContentsCount()).isEqualTo(1);
        assertThat(Infer.value(response)).isEqualTo(9);
        expectArrived(model);
    }

    @ParameterizedTest
    @ValueSource(strings = {"grpc", "rest", "binary"})
    void ofARestClient_goesOn(String model) throws Exception {
        String body = "{\"inputs\":[]}";
        for (String[] headers : new String[][] {{}, {"Inference-Header-Content-Length: " + body.length()}}) {
            Http1Client.Response response =
                    http1.post("/v2/models/" + model + "/infer", body, headers).response();
            assertThat(response.status()).as(response.text()).isEqualTo(200);
            assertThat(response.text()).contains("[9]");
        }
    }

    /** Several at once, which may be batched. */
    @ParameterizedTest
    @CsvSource({"simple, INPUT0", "digits, image"})
    void ofALocalModel_isRefusedByTheModel(String model, String input) throws Exception {
        String message = "model '" + model + "': input '" + input + "' is missing";
        GrpcClient[] calls = new GrpcClient[20];
        for (int i = 0; i < calls.length; i++) {
            calls[i] = ask(model);
        }
        for (GrpcClient call : calls) {
            assertThat(call.status().getCode()).isEqualTo(Status.Code.INVALID_ARGUMENT);
            assertThat(call.status().getDescription()).isEqualTo(message);
        }
        Http1Client.Response response =
                http1.post("/v2/models/" + model + "/infer", "{\"inputs\":[]}").response();
        assertThat(response.status()).isEqualTo(400);
        assertThat(response.text()).isEqualTo("{\"error\":\"" + message + "\"}");
    }
}
