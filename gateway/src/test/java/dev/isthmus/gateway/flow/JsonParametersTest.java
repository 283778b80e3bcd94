package dev.isthmus.gateway.flow;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.config.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.upstream.rest.ScriptedServer;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Parameters of any JSON: they reach a REST server of MLServer's dialect as they are written, whether the body goes as it came
 * or is written anew, and are refused in one way for all other servers.
 */
class JsonParametersTest {
    private static final List<String> VALUES = List.of(
            "null",
            "[]",
            "{}",
            "[1,\"a\",null,{\"b\":[1.50,true]}]",
            "{ \"k\" : {\"\\u00e9\":\"\u00e9\"} }",
            "123456789012345678901234567890",
            "1e999");

    /** Data, and whether it reaches MLServer as it came. */
    private static final Map<String, Boolean> TENSORS = Map.of(
            "\"datatype\":\"FP32\",\"data\":[1.50]", true,
            "\"datatype\":\"FP16\",\"data\":[1.50]", false,
            "\"datatype\":\"INT32\",\"data\":[1.0]", false,
            "\"datatype\":\"FP32\",\"data\":[NaN]", false,
            "\"datatype\":\"FP32\",\"data\":[-0]", false);

    private static ScriptedServer server;
    private static OipServer grpc;
    private static Stage stage;
    private static Http1Client client;

    static Stream<Arguments> cases() {
        return VALUES.stream().flatMap(value -> TENSORS.keySet().stream().map(tensor -> Arguments.of(value, tensor)));
    }

    @BeforeAll
    static void start() throws Exception {
        server = ScriptedServer.sending(ScriptedServer.ok("{\"model_name\":\"m\",\"outputs\":[]}"));
        grpc = new OipServer((call, message) -> call.sendMessage(new byte[0]));
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
        client = stage.http1();
    }

    @AfterAll
    static void stop() throws Exception {
        client.close();
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
        return client.post("/v2/models/" + model + "/infer", body).response();
    }

    @ParameterizedTest
    @MethodSource("cases")
    void towardsMlServer_areAsTheyAreWritten(String value, String tensor) throws Exception {
        String body = body(value, tensor);
        Http1Client.Response response = post("mlserver", body);
        assertThat(response.status()).as(response.text()).isEqualTo(200);
        // Its bytes, one a character.
        String latin = new String(body.getBytes(UTF_8), ISO_8859_1);
        String seen = Stage.posted(server).body();
        assertThat(seen.equals(latin)).as(seen).isEqualTo(TENSORS.get(tensor));
        String written = latin.substring(latin.indexOf("\"p\":"), latin.indexOf("}],\"outputs\""));
        assertThat(seen.split(Pattern.quote(written), -1)).as(seen).hasSize(4);
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
}
