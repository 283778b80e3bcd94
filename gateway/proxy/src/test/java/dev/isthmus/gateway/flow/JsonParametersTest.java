package dev.isthmus.gateway.flow;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.gateway.upstream.FakeRestServer;
import dev.isthmus.proto.ModelInferResponse;
import io.grpc.Metadata;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.FieldSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Parameters of any JSON type: forwarded verbatim to a REST server of MLServer's dialect, whether the body is forwarded
 * or rewritten, and rejected in the same way for all other servers.
 */
class JsonParametersTest {
    private static final ObjectMapper JSON = new ObjectMapper();

    private static final List<String> VALUES = List.of(
            "null",
            "[]",
            "{}",
            "[1,\"a\",null,{\"b\":[1.50,true]}]",
            "{ \"k\" : {\"\\u00e9\":\"\u00e9\"} }",
            "123456789012345678901234567890",
            "1e999");

    /** Data, and whether it reaches MLServer unchanged. */
    private static final Map<String, Boolean> TENSORS = Map.of(
            "\"datatype\":\"FP32\",\"data\":[1.50]", true,
            "\"datatype\":\"FP16\",\"data\":[1.50]", false,
            "\"datatype\":\"INT32\",\"data\":[1.0]", false,
            "\"datatype\":\"FP32\",\"data\":[NaN]", false,
            "\"datatype\":\"FP32\",\"data\":[-0]", false);

    private static FakeRestServer server;
    private static FakeGrpcServer grpc;
    private static Stage stage;

    static Stream<Arguments> cases() {
        return VALUES.stream().flatMap(value -> TENSORS.keySet().stream().map(tensor -> Arguments.of(value, tensor)));
    }

    @BeforeAll
    static void start() throws Exception {
        server = FakeRestServer.sending(FakeRestServer.ok("{\"model_name\":\"\",\"outputs\":[]}"));
        grpc = new FakeGrpcServer((call, message) -> call.sendMessage(new byte[0]));
        stage = new Stage(
                Map.of(
                        "mlserver", Stage.rest(server, ServerDialect.MLSERVER),
                        "triton", Stage.rest(server, ServerDialect.TRITON),
                        "kserve", Stage.rest(server, ServerDialect.KSERVE),
                        "generic", Stage.rest(server, ServerDialect.GENERIC),
                        "grpc", Stage.grpc(grpc, ServerDialect.MLSERVER)),
                Map.of(
                        "mlserver",
                        "mlserver",
                        "triton",
                        "triton",
                        "kserve",
                        "kserve",
                        "generic",
                        "generic",
                        "grpc",
                        "grpc"),
                null);
    }

    @AfterAll
    static void stop() throws Exception {
        stage.close();
        grpc.close();
        server.close();
    }

    private static String body(String value, String tensor) {
        String parameters = "\"parameters\":{\"p\":" + value + "}";
        return "{\"id\":\"7\",\"inputs\":[{\"name\":\"x\",\"shape\":[1]," + tensor + "," + parameters
                + "}],\"outputs\":[{\"name\":\"y\"," + parameters + "}]," + parameters + "}";
    }

    private static Http1Client.Response post(String model, String body) throws Exception {
        try (Http1Client client = stage.http1()) {
            return client.post("/v2/models/" + model + "/infer", body).response();
        }
    }

    @ParameterizedTest
    @MethodSource("cases")
    void towardsMlServer_areAsTheyAreWritten(String value, String tensor) throws Exception {
        String body = body(value, tensor);
        Http1Client.Response response = post("mlserver", body);
        assertThat(response.status()).as(response.text()).isEqualTo(200);
        // Its bytes, one per character.
        String latin = new String(body.getBytes(UTF_8), ISO_8859_1);
        String seen = Stage.posted(server).body();
        assertThat(seen.equals(latin)).as(seen).isEqualTo(TENSORS.get(tensor));
        String written = latin.substring(latin.indexOf("\"p\":"), latin.indexOf("}],\"outputs\""));
        assertThat(seen.split(Pattern.quote(written), -1)).as(seen).hasSize(4);
    }

    /** As pydantic's {@code model_dump()} writes what is not set. */
    @ParameterizedTest
    @ValueSource(strings = {"mlserver", "triton", "kserve", "generic", "grpc"})
    void nullForOptionalMembers_reachesMlServerOnly(String model) throws Exception {
        String body =
                "{\"id\":null,\"parameters\":null,\"outputs\":OUTPUTS,\"inputs\":[{\"name\":\"x\",\"shape\":[1,2],"
                        + "\"datatype\":\"FP32\",\"parameters\":null,\"data\":[5.1,3.5]}]}";
        for (String outputs : List.of("null", "[{\"name\":\"y\",\"parameters\":null}]")) {
            String sent = body.replace("OUTPUTS", outputs);
            assertThat(post(model, sent).status()).isEqualTo(200);
            if (model.equals("mlserver")) {
                assertThat(Stage.posted(server).body()).isEqualTo(sent);
            } else if (model.equals("grpc")) {
                assertThat(Infer.request(FakeGrpcServer.next(grpc.messages)).getInputsList())
                        .hasSize(1);
            } else {
                assertThat(Stage.posted(server).body())
                        .contains("\"name\":\"x\"")
                        .doesNotContain("null");
            }
        }
    }

    @ParameterizedTest
    @MethodSource("cases")
    void towardsOthers_areRefused(String value, String tensor) throws Exception {
        String first = post("triton", body(value, tensor)).text();
        assertThat(first).contains("parameter 'p': ");
        for (String model : List.of("triton", "kserve", "generic", "grpc")) {
            Http1Client.Response response = post(model, body(value, tensor));
            assertThat(response.status()).as(model).isEqualTo(400);
            assertThat(response.text()).as(model).isEqualTo(first);
        }
        assertThat(grpc.messages).isEmpty();
    }

    /** A response of MLServer's dialect with parameters everywhere; all of them must be returned on either path. */
    @ParameterizedTest
    @FieldSource("VALUES")
    void ofResponses_reachRestClients_andNotGrpcClients(String value) throws Exception {
        String parameters = "\"parameters\":{\"p\":" + value + ",\"q\":1}";
        String json = "{\"model_name\":\"m\",\"id\":\"7\"," + parameters
                + ",\"outputs\":[{\"name\":\"y\",\"shape\":[1],\"datatype\":\"FP32\"," + parameters
                + ",\"data\":[1.5]}]}";
        String latin = new String(json.getBytes(UTF_8), ISO_8859_1);
        try (FakeRestServer restServer = FakeRestServer.sending(FakeRestServer.ok(latin));
                Stage restStage = Stage.of(Stage.rest(restServer, ServerDialect.MLSERVER));
                Http1Client rest = restStage.http1()) {
            String input = "{\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":\"FP32\",\"data\":[1]}]";
            String asItCame =
                    rest.post("/v2/models/m/infer", input + "}").response().text();
            assertThat(asItCame).isEqualTo(json);
            Http1Client.Response written = rest.post(
                            "/v2/models/m/infer", input + ",\"parameters\":{\"binary_data_output\":true}}")
                    .response();
            int length = Integer.parseInt(written.header("inference-header-content-length"));
            JsonNode head = JSON.readTree(written.latin().substring(0, length).getBytes(ISO_8859_1));
            JsonNode whole = JSON.readTree(json);
            assertThat(head.path("parameters")).isEqualTo(whole.path("parameters"));
            assertThat(head.at("/outputs/0/parameters/p")).isEqualTo(whole.at("/outputs/0/parameters/p"));
            assertThat(head.at("/outputs/0/parameters/binary_data_size").asInt())
                    .isEqualTo(4);

            GrpcClient grpcClient = GrpcClient.ask(
                    restStage.channel(),
                    "ModelInfer",
                    new Metadata(),
                    Infer.request("m", "7", 1).toByteArray());
            ModelInferResponse response = Infer.response(grpcClient.response());
            assertThat(response.getParametersMap()).containsOnlyKeys("q");
            assertThat(response.getOutputs(0).getParametersMap()).containsOnlyKeys("q");
        }
    }
}
