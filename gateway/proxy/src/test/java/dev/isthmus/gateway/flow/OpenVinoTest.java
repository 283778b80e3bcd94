package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.settings.GatewayConfig.BinaryTensorData;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.gateway.upstream.FakeRestServer;
import dev.isthmus.proto.InferParameter;
import dev.isthmus.proto.InferTensorContents;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.proto.ModelInferResponse;
import io.grpc.Metadata;
import io.grpc.Status;
import java.util.Locale;
import org.junit.jupiter.api.Test;

/**
 * OpenVINO Model Server, as its sources of 2026.3 say: {@code rest_parser.cpp}, {@code rest_utils.cpp}, {@code
 * http_rest_api_handler.cpp} and {@code kfs_graph_executor_impl.cpp}. The server itself cannot be installed here.
 */
class OpenVinoTest {
    private static final String PATH = "/v2/models/m/infer";
    /** Its JSON reads a double as a float, and no integer of more than 32 bits. */
    private static final String REQUEST = "{\"id\":\"7\",\"inputs\":["
            + "{\"name\":\"d\",\"datatype\":\"FP64\",\"shape\":[1],\"data\":[0.1]},"
            + "{\"name\":\"n\",\"datatype\":\"INT64\",\"shape\":[1],\"data\":[1099511627776]}],"
            + "\"outputs\":[{\"name\":\"y\"},{\"name\":\"none\"},{\"name\":\"z\"}]}";

    /** Only the last of the requested outputs is binary, and one without elements has no data at all. */
    private static final String OUTPUTS = "{\"model_name\":\"m\",\"id\":\"7\",\"model_version\":\"1\",\"outputs\":["
            + "{\"name\":\"y\",\"shape\":[1],\"datatype\":\"FP32\",\"data\":[0.10000000149011612]},"
            + "{\"name\":\"none\",\"shape\":[0,4],\"datatype\":\"FP32\"},"
            + "{\"name\":\"z\",\"shape\":[1],\"datatype\":\"INT64\",\"parameters\":{\"binary_data_size\":8}}]}";

    private static final String BINARY = "HTTP/1.1 200 OK\r\ncontent-type: application/json; charset=utf-8\r\n"
            + "inference-header-content-length: " + OUTPUTS.length() + "\r\ncontent-length: " + (OUTPUTS.length() + 8)
            + "\r\n\r\n" + OUTPUTS + "\t\0\0\0\0\1\0\0";

    private static Stage stage(FakeRestServer server) throws Exception {
        return Stage.of(Stage.upstream(
                UpstreamProtocol.REST, server.endpoint(), ServerDialect.OVMS, BinaryTensorData.TRUE, false));
    }

    @Test
    void json_isSentAsBinaryData_andAnyFormOfOutputIsRead() throws Exception {
        try (FakeRestServer server = FakeRestServer.sending(BINARY);
                Stage stage = stage(server);
                Http1Client client = stage.http1()) {
            Http1Client.Response response = client.post(PATH, REQUEST).response();
            assertThat(response.status()).as(response.text()).isEqualTo(200);
            assertThat(response.text())
                    .contains(
                            "\"shape\":[1],\"data\":[0.1]",
                            "\"shape\":[0,4],\"data\":[]",
                            "\"shape\":[1],\"data\":[1099511627785]");
            FakeRestServer.RestRequest seen = Stage.posted(server);
            assertThat(seen.head().toLowerCase(Locale.ROOT)).contains("inference-header-content-length: ");
            assertThat(seen.body())
                    .contains("\"name\":\"z\",\"parameters\":{\"binary_data\":true}")
                    .doesNotContain("\"data\":")
                    .endsWith("\0\0\0\0\0\1\0\0");
        }
    }

    @Test
    void binaryResponse_toAClientThatAskedForIt_isForwardedUnchanged() throws Exception {
        String head = "{\"id\":\"7\",\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1],"
                + "\"parameters\":{\"binary_data_size\":4}}],\"parameters\":{\"binary_data_output\":true}}";
        try (FakeRestServer server = FakeRestServer.sending(BINARY);
                Stage stage = stage(server);
                Http1Client client = stage.http1()) {
            Http1Client.Response response = client.post(
                            PATH, head + "1234", "Inference-Header-Content-Length: " + head.length())
                    .response();
            assertThat(response.status()).as(response.text()).isEqualTo(200);
            assertThat(response.latin()).startsWith(OUTPUTS).endsWith("\t\0\0\0\0\1\0\0");
            assertThat(Stage.posted(server).body()).isEqualTo(head + "1234");
        }
    }

    @Test
    void outputWithElementsAndNoData_isABadResponse() throws Exception {
        String none = BINARY.replace("[0,4]", "[1,4]");
        try (FakeRestServer server = FakeRestServer.sending(none);
                Stage stage = stage(server);
                Http1Client client = stage.http1()) {
            assertThat(client.post(PATH, REQUEST).response().status()).isEqualTo(502);
        }
    }

    /** It responds in raw form to both, has no double among its parameters, and ignores classification. */
    @Test
    void grpc_isSentRawContents_andItsKindsOfParameters() throws Exception {
        ModelInferRequest typed = ModelInferRequest.newBuilder()
                .setModelName("m")
                .addInputs(ModelInferRequest.InferInputTensor.newBuilder()
                        .setName("INPUT0")
                        .setDatatype("INT32")
                        .addShape(1)
                        .setContents(InferTensorContents.newBuilder().addIntContents(5)))
                .putParameters(
                        "p", InferParameter.newBuilder().setDoubleParam(0.5).build())
                .build();
        try (FakeGrpcServer server = new FakeGrpcServer((call, message) -> call.sendMessage(
                        Infer.responseTo(Infer.request(message), 7).toByteArray()));
                Stage stage = Stage.of(Stage.grpc(server, ServerDialect.OVMS))) {
            GrpcClient client = GrpcClient.ask(stage.channel(), "ModelInfer", new Metadata(), typed.toByteArray());
            assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
            assertThat(Infer.value(Infer.response(client.response()))).isEqualTo(7);
            ModelInferRequest seen = Infer.request(FakeGrpcServer.next(server.messages));
            assertThat(Infer.value(seen)).isEqualTo(5);
            assertThat(seen.getInputs(0).hasContents()).isFalse();
            assertThat(seen.getParametersOrThrow("p").getStringParam()).isEqualTo("0.5");
        }
    }

    /** Responses of its graphs have no id. */
    @Test
    void stream_ofAGraph_hasResponsesInOrder() throws Exception {
        try (FakeGrpcServer server = new FakeGrpcServer((call, message) -> {
                    ModelInferRequest request = Infer.request(message);
                    ModelInferResponse response = Infer.responseTo(request, Infer.value(request));
                    call.sendMessage(
                            Infer.enveloped(response.toBuilder().clearId().build()));
                });
                Stage stage = Stage.of(Stage.grpc(server, ServerDialect.OVMS))) {
            GrpcClient client = GrpcClient.open(stage.channel(), "ModelStreamInfer");
            client.send(Infer.request("m", "a", 1).toByteArray());
            client.send(Infer.request("m", "b", 2).toByteArray());
            client.end();
            for (int i = 1; i <= 2; i++) {
                ModelInferResponse response = Infer.envelope(client.response()).getInferResponse();
                assertThat(Infer.value(response)).isEqualTo(i);
            }
            assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
        }
    }
}
