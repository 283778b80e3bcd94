package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.gateway.upstream.FakeRestServer;
import java.io.OutputStream;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * JSON between a REST client and a REST server: the server receives the client's exact bytes, and validates numbers
 * itself.
 */
class SkimmedJsonTest {
    private static final String PATH = "/v2/models/m/infer";
    private static final String REFUSED = "{\"error\":\"the server's words\"}";

    private FakeRestServer server;
    private FakeGrpcServer other;
    private Stage stage;
    private Http1Client client;

    /** The server rejects requests with an X in the id. */
    private static boolean serve(FakeRestServer.RestRequest request, OutputStream out) throws java.io.IOException {
        String text = request.body().contains("\"X\"")
                ? FakeRestServer.ok(REFUSED).replace("200 OK", "422 Unprocessable Entity")
                : FakeRestServer.ok("{\"model_name\":\"m\",\"outputs\":[]}");
        FakeRestServer.write(out, text);
        return true;
    }

    @BeforeEach
    void start() throws Exception {
        server = FakeRestServer.that(SkimmedJsonTest::serve);
        other = new FakeGrpcServer((call, message) -> call.sendMessage(
                Infer.responseTo(Infer.request(message), Infer.number(9)).toByteArray()));
        ModelConfig.ShadowConfig shadow =
                TestConfigs.with(DefaultValues.of(ModelConfig.ShadowConfig.class), Map.of("upstream", "grpc"));
        ModelConfig.Fallback fallback =
                TestConfigs.with(DefaultValues.of(ModelConfig.Fallback.class), Map.of("upstream", "grpc"));
        stage = new Stage(
                Map.of(
                        "rest", Stage.rest(server, ServerDialect.MLSERVER),
                        "grpc", Stage.grpc(other, ServerDialect.MLSERVER)),
                Map.of(
                        "m", ModelConfig.of("rest"),
                        "shadowed", TestConfigs.with(ModelConfig.of("rest"), Map.of("shadow", List.of(shadow))),
                        "falling", TestConfigs.with(ModelConfig.of("rest"), Map.of("fallback", fallback))),
                null,
                false);
        client = stage.http1();
    }

    @AfterEach
    void stop() throws Exception {
        client.close();
        stage.close();
        other.close();
        server.close();
    }

    private static String request(String type, int count, String data) {
        return "{\n  \"id\" : \"X\", \"inputs\":[ {\"name\":\"x\",\"shape\":[ " + count + "] , \"datatype\":\"" + type
                + "\",\"data\":" + data + " }],\"parameters\":{\"p\":null}} \n";
    }

    @ParameterizedTest
    @ValueSource(strings = {"01", "1-2", ".5", "+1", "-", "1.2.3", "1e", "1."})
    void floatOutsideTheGrammar_isRefusedBeforeTheServer(String number) throws Exception {
        Http1Client.Response response =
                client.post(PATH, request("FP32", 1, "[" + number + "]")).response();
        assertThat(response.status()).as(response.text()).isEqualTo(400);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            FP32  | 4 | [ 1e-0 , 2.50, -3,4]
            FP64  | 2 | [0.10000000000000000555111512312578,2]
            INT64 | 3 | [1,2 ,9223372036854775807 ]
            UINT8 | 2 | [ 255,0\t]
            FP32  | 2 | [1e-999,-0.0]
            """)
    void body_reachesTheServerByteForByte(String type, int count, String data) throws Exception {
        String body = request(type, count, data);
        Http1Client.Response response = client.post(PATH, body).response();
        assertThat(Stage.posted(server).body()).isEqualTo(body);
        assertThat(response.status()).isEqualTo(400);
        assertThat(response.text()).isEqualTo(REFUSED);
    }

    @Test
    void body_inManyParts_reachesTheServerByteForByte() throws Exception {
        String body = request("FP32", 200_001, "[1" + ", 0.48627451".repeat(200_000) + "]");
        client.send("POST " + PATH + " HTTP/1.1\r\nHost: a\r\nContent-Length: " + body.length() + "\r\n\r\n");
        for (int at = 0; at < body.length(); at += 99_991) {
            client.send(body.substring(at, Math.min(body.length(), at + 99_991)));
        }
        assertThat(client.response().text()).isEqualTo(REFUSED);
        assertThat(Stage.posted(server).body()).isEqualTo(body);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            3 | [1,2]         | input 'x': shape [3] needs 3 elements, got 2 in data
            2 | [[1],[2,3]]   | input 'x': data: nested arrays of different sizes
            2 | [[1],[2]]     | input 'x': shape [2] is expected of the nested arrays in data, got [2,1]
            2 | [1,"a"]       | input 'x': a value of FP32 is expected, got a string
            """)
    void structure_isStillCheckedHere(int count, String data, String message) throws Exception {
        Http1Client.Response response =
                client.post(PATH, request("FP32", count, data)).response();
        assertThat(response.status()).isEqualTo(400);
        assertThat(response.text()).isEqualTo("{\"error\":\"" + message + "\"}");
        String valid = request("FP32", 1, "[7]");
        client.post(PATH, valid).response();
        assertThat(Stage.posted(server).body()).isEqualTo(valid);
    }

    @Test
    void dataThatServersReadDifferently_isWrittenAnew() throws Exception {
        client.post(PATH, request("FP32", 2, "[1.50,NaN]").replace("{\"p\":null}", "{}"))
                .response();
        assertThat(Stage.posted(server).body()).contains("[1.5,null]");
        client.post(PATH, request("INT8", 2, "[1.0,2]").replace("{\"p\":null}", "{}"))
                .response();
        assertThat(Stage.posted(server).body()).contains("[1,2]");
    }

    @ParameterizedTest
    @ValueSource(strings = {"shadowed", "falling"})
    void numbers_areReadHere_whereAServerOfAnotherKindMayGetThem(String model) throws Exception {
        Http1Client.Response response = client.post("/v2/models/" + model + "/infer", request("FP32", 1, "[1e40]"))
                .response();
        assertThat(response.status()).isEqualTo(400);
        assertThat(response.text()).contains("input 'x': a value of FP32 is expected, got 1e40");
    }
}
