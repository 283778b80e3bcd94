package dev.isthmus.gateway.flow;

import static dev.isthmus.gateway.upstream.FakeRestServer.ok;
import static dev.isthmus.gateway.upstream.FakeRestServer.write;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.GatewayConfig.BinaryTensorData;
import dev.isthmus.gateway.settings.GatewayConfig.HealthConfig;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.upstream.FakeRestServer;
import dev.isthmus.proto.InferParameter;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.proto.ModelInferResponse;
import dev.isthmus.proto.ModelStreamInferResponse;
import io.grpc.Status;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** ModelStreamInfer over upstreams without streams: REST servers and the embedded models. */
class StreamOverUnaryTest {
    private static final Pattern ID = Pattern.compile("\"id\":\"([^\"]*)\"");
    private static final Pattern DATA = Pattern.compile("\"data\":\\[(\\d+)");

    /** Responds with the request's number, and to "bad" with a failure; "hang" gets no response. */
    private static boolean respond(FakeRestServer.RestRequest request, OutputStream out) throws IOException {
        String id = first(ID, request.body());
        switch (id) {
            case "bad" -> write(out, "HTTP/1.1 400 Bad\r\nContent-Length: 21\r\n\r\n{\"error\":\"it is bad\"}");
            case "hang" -> {}
            default -> write(out, ok(Infer.responseJson("m", id, Integer.parseInt("0" + first(DATA, request.body())))));
        }
        return true;
    }

    private static String first(Pattern pattern, String text) {
        Matcher matcher = pattern.matcher(text);
        return matcher.find() ? matcher.group(1) : "";
    }

    private static GrpcClient open(Stage stage) {
        return GrpcClient.open(stage.channel(), "ModelStreamInfer");
    }

    @Test
    void rest_manyRequests_getResponsesInOrder() throws Exception {
        try (FakeRestServer server = FakeRestServer.that(StreamOverUnaryTest::respond);
                Stage stage = Stage.of(Stage.rest(server, ServerDialect.GENERIC))) {
            GrpcClient client = open(stage);
            for (int i = 0; i < 100; i++) {
                client.send(Infer.request("m", "id" + i, i).toByteArray());
            }
            client.end();
            for (int i = 0; i < 100; i++) {
                ModelInferResponse response = Infer.envelope(client.response()).getInferResponse();
                assertThat(response.getId()).isEqualTo("id" + i);
                assertThat(Infer.value(response)).isEqualTo(i);
            }
            assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
        }
    }

    @Test
    void rest_error_hasTheRequestsId_andTheStreamGoesOn() throws Exception {
        try (FakeRestServer server = FakeRestServer.that(StreamOverUnaryTest::respond);
                Stage stage = Stage.of(Stage.rest(server, ServerDialect.GENERIC))) {
            GrpcClient client = open(stage);
            client.send(Infer.request("m", "bad", 1).toByteArray())
                    .send(Infer.request("m", "good", 2).toByteArray());
            client.end();
            ModelStreamInferResponse error = Infer.envelope(client.response());
            assertThat(error.getErrorMessage()).isEqualTo("it is bad");
            assertThat(error.getInferResponse().getId()).isEqualTo("bad");
            assertThat(Infer.value(Infer.envelope(client.response()).getInferResponse()))
                    .isEqualTo(2);
            assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
        }
    }

    @Test
    void rest_timeoutOfTheModel_holdsForEachRequest() throws Exception {
        ModelConfig model = TestConfigs.with(ModelConfig.of("server"), Map.of("timeout", Duration.ofMillis(300)));
        try (FakeRestServer server = FakeRestServer.that(StreamOverUnaryTest::respond);
                Stage stage = Stage.fleet(
                        Map.of("server", Stage.rest(server, ServerDialect.GENERIC)),
                        Map.of("m", model),
                        DefaultValues.of(HealthConfig.class),
                        null)) {
            GrpcClient client = open(stage);
            client.send(Infer.request("m", "hang", 1).toByteArray());
            client.end();
            ModelStreamInferResponse late = Infer.envelope(client.response());
            assertThat(late.getErrorMessage()).contains("did not respond");
            assertThat(late.getInferResponse().getId()).isEqualTo("hang");
            assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
        }
    }

    @Test
    void rest_severalResponsesToOneRequest_andErrors_haveItsId() throws Exception {
        String events = "data: " + Infer.responseJson("m", "a", 1) + "\n\ndata: {\"error\":\"it went bad\"}\n\n";
        try (FakeRestServer server = FakeRestServer.sending(
                        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nContent-Length: "
                                + events.length() + "\r\n\r\n" + events);
                Stage stage = Stage.of(Stage.rest(server, ServerDialect.MLSERVER))) {
            GrpcClient client = open(stage);
            client.send(Infer.request("m", "a", 1).toByteArray());
            client.end();
            assertThat(Infer.value(Infer.envelope(client.response()).getInferResponse()))
                    .isEqualTo(1);
            ModelStreamInferResponse error = Infer.envelope(client.response());
            assertThat(error.getErrorMessage()).isEqualTo("it went bad");
            assertThat(error.getInferResponse().getId()).isEqualTo("a");
            assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
            assertThat(Stage.posted(server).head()).startsWith("POST /v2/models/m/infer_stream ");
        }
    }

    @Test
    void rest_outputsInSharedMemory_haveNoData() throws Exception {
        String shared = "{\"id\":\"a\",\"model_name\":\"m\",\"outputs\":[{\"name\":\"OUTPUT0\","
                + "\"datatype\":\"INT32\",\"shape\":[1]}]}";
        try (FakeRestServer server = FakeRestServer.that((request, out) -> {
                    boolean region = request.body().contains("shared_memory_region");
                    write(out, ok(region ? shared : Infer.responseJson("m", "b", 2)));
                    return true;
                });
                Stage stage = Stage.of(Stage.upstream(
                        UpstreamProtocol.REST,
                        server.endpoint(),
                        ServerDialect.TRITON,
                        BinaryTensorData.FALSE,
                        true))) {
            GrpcClient client = open(stage);
            client.send(Infer.request("m", "a", 1).toBuilder()
                            .addOutputs(ModelInferRequest.InferRequestedOutputTensor.newBuilder()
                                    .setName("OUTPUT0")
                                    .putParameters(
                                            "shared_memory_region",
                                            InferParameter.newBuilder()
                                                    .setStringParam("r")
                                                    .build())
                                    .putParameters(
                                            "shared_memory_byte_size",
                                            InferParameter.newBuilder()
                                                    .setInt64Param(4)
                                                    .build()))
                            .build()
                            .toByteArray())
                    .send(Infer.request("m", "b", 2).toByteArray());
            client.end();
            ModelStreamInferResponse first = Infer.envelope(client.response());
            assertThat(first.getErrorMessage()).isEmpty();
            assertThat(first.getInferResponse().getId()).isEqualTo("a");
            assertThat(first.getInferResponse().getOutputs(0).getName()).isEqualTo("OUTPUT0");
            assertThat(first.getInferResponse().getOutputs(0).getParametersMap())
                    .isEmpty();
            assertThat(Infer.value(Infer.envelope(client.response()).getInferResponse()))
                    .isEqualTo(2);
            assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
        }
    }

    /**
     * MLServer puts ids into a header, so an id that is invalid there is not sent, but still returned to the client.
     */
    @Test
    void rest_idThatTheServerCannotTake_comesBack() throws Exception {
        try (FakeRestServer server = FakeRestServer.that(StreamOverUnaryTest::respond);
                Stage stage = Stage.of(Stage.rest(server, ServerDialect.MLSERVER))) {
            GrpcClient client = open(stage);
            client.send(Infer.request("m", "\u00e9 \n", 1).toByteArray())
                    .send(Infer.request("m", "plain", 2).toByteArray());
            client.end();
            for (String id : new String[] {"\u00e9 \n", "plain"}) {
                assertThat(Infer.envelope(client.response()).getInferResponse().getId())
                        .isEqualTo(id);
            }
            assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
        }
    }

    /** MLServer makes one up for a request without an id, models of KServe for any. */
    @ParameterizedTest
    @CsvSource({"MLSERVER, ''", "KSERVE, ''", "KSERVE, mine"})
    void rest_idThatTheServerMakesUp_isLeftOut(ServerDialect dialect, String id) throws Exception {
        try (FakeRestServer server = FakeRestServer.sending(ok(Infer.responseJson("m", "made-up", 1)));
                Stage stage = Stage.of(Stage.rest(server, dialect))) {
            GrpcClient client = open(stage);
            client.send(Infer.request("m", id, 1).toByteArray());
            client.end();
            assertThat(Infer.envelope(client.response()).getInferResponse().getId())
                    .isEqualTo(id);
            assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
        }
    }

    @Test
    void rest_client_cancels_connectionIsClosed() throws Exception {
        try (FakeRestServer server = FakeRestServer.that(StreamOverUnaryTest::respond);
                Stage stage = Stage.of(Stage.rest(server, ServerDialect.GENERIC))) {
            GrpcClient client = open(stage);
            for (int i = 0; i < 5; i++) {
                client.send(Infer.request("m", "hang", i).toByteArray());
            }
            Stage.posted(server);
            client.cancel();
            server.awaitConnectionClosed();
        }
    }

    @Test
    void local_manyRequests_getResponsesInOrder_andErrorsToo() throws Exception {
        try (Stage stage = Stage.local()) {
            GrpcClient client = open(stage);
            for (int i = 0; i < 40; i++) {
                client.send(i % 10 == 7 ? wrong("id" + i) : simple("id" + i, i));
            }
            client.end();
            for (int i = 0; i < 40; i++) {
                ModelStreamInferResponse response = Infer.envelope(client.response());
                assertThat(response.getInferResponse().getId()).isEqualTo("id" + i);
                assertThat(response.getErrorMessage().isEmpty()).isEqualTo(i % 10 != 7);
                if (i % 10 != 7) {
                    assertThat(Infer.number(response.getInferResponse().getRawOutputContents(0)))
                            .isEqualTo(2 * i);
                }
            }
            assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
        }
    }

    @Test
    void several_restAndLocal_shareOneStream() throws Exception {
        try (FakeRestServer server = FakeRestServer.that(StreamOverUnaryTest::respond);
                Stage stage = new Stage(
                        Map.of("rest", Stage.rest(server, ServerDialect.GENERIC)), Map.of("m", "rest"), "local")) {
            GrpcClient client = open(stage);
            client.send(simple("local", 4));
            assertThat(Infer.envelope(client.response()).getInferResponse().getId())
                    .isEqualTo("local");
            client.send(Infer.request("m", "rest", 5).toByteArray());
            assertThat(Infer.envelope(client.response()).getInferResponse().getId())
                    .isEqualTo("rest");
            client.end();
            assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
        }
    }

    /** For the embedded model "simple", whose first output is the sum of its inputs. */
    private static byte[] simple(String id, int value) {
        ByteBuffer data = ByteBuffer.allocate(16 * Integer.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        while (data.hasRemaining()) {
            data.putInt(value);
        }
        ByteString content = ByteString.copyFrom(data.flip());
        return ModelInferRequest.newBuilder()
                .setModelName("simple")
                .setId(id)
                .addInputs(input("INPUT0"))
                .addInputs(input("INPUT1"))
                .addRawInputContents(content)
                .addRawInputContents(content)
                .build()
                .toByteArray();
    }

    private static ModelInferRequest.InferInputTensor.Builder input(String name) {
        return ModelInferRequest.InferInputTensor.newBuilder()
                .setName(name)
                .setDatatype("INT32")
                .addShape(1)
                .addShape(16);
    }

    private static byte[] wrong(String id) {
        return Infer.request("simple", id, 1).toByteArray();
    }
}
