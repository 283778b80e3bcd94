package dev.isthmus.gateway.flow;

import static dev.isthmus.gateway.upstream.FakeRestServer.write;
import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.http2.Http2Client;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.gateway.upstream.FakeRestServer;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Server-sent events of a REST server: each transcoded as a response, or the stream forwarded unchanged. */
class EventsFromRestTest {
    private static final String PATH = "/v2/models/m/infer_stream";
    private static final String GENERATE = "/v2/models/m/generate_stream";
    private static final String HEAD = String.join(
            "\r\n",
            "HTTP/1.1 200 OK",
            "Content-Type: text/event-stream; charset=utf-8",
            "Transfer-Encoding: chunked",
            "\r\n");
    private static final String ODD = String.join(
            "\r\n",
            ": a comment",
            "event: x",
            "id: 7",
            "data: {\"text_output\":\"\u00fc\"}",
            "",
            "data:{\"no\": \"space\",\ndata: \"two\": \"lines\"}\n\ndata\n\ndate: 1\n\n"
                    + "retry: 1\rdata: {\"last\": \"unended\"}");

    private static void chunk(OutputStream out, String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        write(out, Integer.toHexString(bytes.length) + "\r\n");
        out.write(bytes);
        write(out, "\r\n");
    }

    private static FakeRestServer sending(String body, int pieces) throws IOException {
        return FakeRestServer.that((request, out) -> {
            write(out, HEAD);
            for (int from = 0; from < body.length(); from += pieces) {
                chunk(out, body.substring(from, Math.min(body.length(), from + pieces)));
            }
            write(out, "0\r\n\r\n");
            return true;
        });
    }

    /** Sends these bytes after the headers, and keeps the connection open. */
    private static FakeRestServer hanging(String body) throws IOException {
        return FakeRestServer.that((request, out) -> {
            write(out, HEAD);
            if (!body.isEmpty()) {
                chunk(out, body);
            }
            return true;
        });
    }

    private static String event(int value) {
        return "data: " + Infer.responseJson("m", "a", value) + "\n\n";
    }

    private static Stage stage(FakeRestServer server) throws Exception {
        return Stage.of(Stage.rest(server, ServerDialect.MLSERVER));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 7, 1000})
    void infer_eventsArePassedOneByOne(int pieces) throws Exception {
        String sent = event(0) + ": comment\r\n\r\n" + event(1).replace("\n", "\r\n") + event(2).replace("\n", "\r");
        try (FakeRestServer server = sending(sent, pieces);
                Stage stage = stage(server);
                Http1Client client = stage.http1();
                Http2Client other = new Http2Client(stage.port())) {
            assertThat(client.post(PATH, Infer.json("a", 0)).head().headers())
                    .containsEntry("content-type", "text/event-stream");
            assertThat(client.chunks()).isEqualTo(event(0) + event(1) + event(2));
            FakeRestServer.RestRequest request = Stage.posted(server);
            assertThat(request.head()).startsWith("POST /v2/models/m/infer_stream ");
            assertThat(request.body()).isEqualTo(Infer.json("a", 0));
            assertThat(other.post(PATH, Infer.json("a", 0)).body()).isEqualTo(event(0) + event(1) + event(2));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "\n", "\r"})
    void infer_lastEventWithoutABlankLine_isPassed(String lineEnd) throws Exception {
        for (int pieces : new int[] {1, 1000}) {
            try (FakeRestServer server = sending(event(0) + event(1).strip() + lineEnd, pieces);
                    Stage stage = stage(server);
                    Http1Client client = stage.http1()) {
                client.post(PATH, Infer.json("a", 0)).head();
                assertThat(client.chunks()).isEqualTo(event(0) + event(1));
            }
        }
    }

    @Test
    void infer_lastEventIsCutOff_isAnError() throws Exception {
        try (FakeRestServer server = sending(event(0) + "data: {\"model_name\":\"m\",", 1000);
                Stage stage = stage(server);
                Http1Client client = stage.http1()) {
            client.post(PATH, Infer.json("a", 0)).head();
            assertThat(client.chunks()).startsWith(event(0) + "data: {\"error\":");
        }
    }

    @Test
    void infer_errorEvents() throws Exception {
        try (FakeRestServer server = sending(event(0) + "data: {\"error\":\"it broke\"}\n\n", 9);
                Stage stage = stage(server);
                Http1Client client = stage.http1()) {
            client.post(PATH, Infer.json("a", 0)).head();
            assertThat(client.chunks()).isEqualTo(event(0) + "data: {\"error\":\"it broke\"}\n\n");
        }
    }

    @Test
    void infer_errorIsTheFirstEvent_isTheStatus_andWhatFollowsIsDropped() throws Exception {
        try (FakeRestServer server = sending("data: {\"error\":\"it broke\"}\n\n" + event(0) + "data: {\"mod", 1000);
                Stage stage = stage(server);
                Http1Client client = stage.http1()) {
            for (int i = 0; i < 3; i++) {
                Http1Client.Response response =
                        client.post(PATH, Infer.json("a", 0)).response();
                assertThat(response.status()).isEqualTo(500);
                assertThat(response.text()).isEqualTo("{\"error\":\"it broke\"}");
            }
        }
    }

    @Test
    void infer_serverThatFails_isTheStatus() throws Exception {
        try (FakeRestServer server =
                        FakeRestServer.sending("HTTP/1.1 422 No\r\nContent-Length: 18\r\n\r\n{\"error\":\"no way\"}");
                Stage stage = stage(server);
                Http1Client client = stage.http1()) {
            Http1Client.Response response =
                    client.post(PATH, Infer.json("a", 0)).response();
            assertThat(response.status()).isEqualTo(400);
            assertThat(response.text()).isEqualTo("{\"error\":\"no way\"}");
        }
    }

    @Test
    void infer_serverThatDoesNotStream_isOneEvent() throws Exception {
        try (FakeRestServer server = FakeRestServer.sending(FakeRestServer.ok(Infer.responseJson("m", "a", 4)));
                Stage stage = Stage.of(Stage.rest(server, ServerDialect.TRITON));
                Http1Client client = stage.http1()) {
            client.post(PATH, Infer.json("a", 0)).head();
            assertThat(client.chunks()).isEqualTo(event(4));
            assertThat(Stage.posted(server).head()).startsWith("POST /v2/models/m/infer ");
        }
    }

    @Test
    void infer_connectionLostMidStream_isAnErrorEvent() throws Exception {
        try (FakeRestServer server = FakeRestServer.that((request, out) -> {
                    write(out, HEAD);
                    chunk(out, event(0));
                    return false;
                });
                Stage stage = stage(server);
                Http1Client client = stage.http1()) {
            client.post(PATH, Infer.json("a", 0)).head();
            assertThat(client.chunks())
                    .isEqualTo(event(0) + "data: {\"error\":\"upstream 'server' broke off its stream of events\"}\n\n");
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 1000})
    void generate_streamIsPassedOnUnchanged(int pieces) throws Exception {
        try (FakeRestServer server = sending(ODD, pieces);
                Stage stage = stage(server);
                Http1Client client = stage.http1();
                Http2Client other = new Http2Client(stage.port())) {
            assertThat(client.post(GENERATE, "{\"text_input\":  \"x\"}").head().headers())
                    .containsEntry("content-type", "text/event-stream");
            assertThat(client.chunks()).isEqualTo(ODD);
            FakeRestServer.RestRequest request = Stage.posted(server);
            assertThat(request.head()).startsWith("POST " + GENERATE + " ");
            assertThat(request.body()).isEqualTo("{\"text_input\":  \"x\"}");
            assertThat(other.post(GENERATE, "{}").body()).isEqualTo(ODD);
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{\"a\":1,}",
                "x",
                "[1]",
                "[DONE",
                "[DONE]x",
                "[DONE] ",
                "[done]",
                "[DONE]\ndata:{}",
                "{}[DONE]",
                "{\"a\":\"\u0001\"}",
                "{\"a\":1}\ndata:{}",
                "{\"a\":\"\ndata:\"}"
            })
    void generate_responsesThatAreNoJsonObject_areNotPassedOn(String wrong) throws Exception {
        String good = "data: {\"text_output\":\"\u00fc\", \"p\":NaN}\r\n\r\n";
        for (int pieces : new int[] {1, 1000}) {
            try (FakeRestServer server = sending(good + "data: " + wrong + "\n\n" + good, pieces);
                    Stage stage = stage(server);
                    Http1Client client = stage.http1();
                    Http2Client other = new Http2Client(stage.port())) {
                client.post(GENERATE, "{}").head();
                String error = "data: {\"error\":\"upstream 'server' sent an event that is not one JSON object: ";
                assertThat(client.chunks()).startsWith(good + error).endsWith("\"}\n\n");
                assertThat(other.post(GENERATE, "{}").body()).startsWith(good + error);
            }
        }
        try (FakeRestServer server = FakeRestServer.sending(FakeRestServer.ok(wrong));
                Stage stage = stage(server);
                Http1Client client = stage.http1()) {
            assertThat(client.post("/v2/models/m/generate", "{}").response().status())
                    .isEqualTo(502);
        }
    }

    /** As servers end a stream that follow OpenAI's API. */
    @ParameterizedTest
    @ValueSource(strings = {"data: [DONE]\n\n", "data:[DONE]\r\n\r\n", "data: [DONE]"})
    void generate_done_isPassedOn(String done) throws Exception {
        String sent = "data: {\"text_output\":\"a\"}\n\n" + done;
        for (int pieces : new int[] {1, 1000}) {
            try (FakeRestServer server = sending(sent, pieces);
                    Stage stage = stage(server);
                    Http1Client client = stage.http1();
                    Http2Client other = new Http2Client(stage.port())) {
                client.post(GENERATE, "{}").head();
                assertThat(client.chunks()).isEqualTo(sent);
                assertThat(other.post(GENERATE, "{}").body()).isEqualTo(sent);
            }
        }
    }

    @Test
    void generate_largeEvent_isNotPassedOn() throws Exception {
        String large = "data: {\"a\":\"" + "x".repeat(1 << 20) + "\"}\n\n";
        try (FakeRestServer server = sending(large, 1);
                Stage stage = Stage.taking(
                        100_000,
                        Map.of("server", Stage.rest(server, ServerDialect.TRITON)),
                        Map.of("m", ModelConfig.of("server")));
                Http2Client client = new Http2Client(stage.port())) {
            assertThat(client.post(GENERATE, "{}").body()).contains("more than 100000 bytes");
        }
    }

    @Test
    void generate_wholeResponses_andFailures() throws Exception {
        try (FakeRestServer server = FakeRestServer.that((request, out) -> {
                    boolean good = request.body().equals("{}");
                    write(out, "HTTP/1.1 " + (good ? 200 : 404) + " X\r\nContent-Length: 14\r\n\r\n{\"error\": \"a\"}");
                    return true;
                });
                Stage stage = stage(server);
                Http1Client client = stage.http1()) {
            for (String path : new String[] {"/v2/models/m/generate", GENERATE}) {
                Http1Client.Response good = client.post(path, "{}").response();
                assertThat(good.status()).isEqualTo(200);
                assertThat(good.text()).isEqualTo("{\"error\": \"a\"}");
                Http1Client.Response bad = client.post(path, "{ }").response();
                assertThat(bad.status()).isEqualTo(404);
                assertThat(bad.text()).isEqualTo("{\"error\":\"a\"}");
            }
        }
    }

    @Test
    void generate_overGrpc_isNotServed() throws Exception {
        try (FakeGrpcServer server = new FakeGrpcServer((call, message) -> {});
                Stage stage = Stage.of(Stage.grpc(server, ServerDialect.TRITON));
                Http1Client client = stage.http1()) {
            assertThat(client.post(GENERATE, "{}").response().status()).isEqualTo(501);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {PATH, GENERATE})
    void client_goes_connectionIsClosed(String path) throws Exception {
        try (FakeRestServer server = hanging(event(0));
                Stage stage = stage(server)) {
            try (Http1Client client = stage.http1()) {
                client.post(path, Infer.json("a", 0)).head();
                assertThat(client.chunk()).isEqualTo(event(0));
            }
            server.awaitConnectionClosed();
            try (Http2Client client = new Http2Client(stage.port())) {
                Http2Client.Response response = client.post(path, Infer.json("a", 0));
                assertThat(response.part()).isEqualTo(event(0));
                response.cancel();
                server.awaitConnectionClosed();
            }
        }
    }

    @Test
    void client_goesBeforeTheFirstEvent_connectionIsClosed() throws Exception {
        try (FakeRestServer server = hanging("");
                Stage stage = stage(server)) {
            try (Http1Client client = stage.http1()) {
                client.post(PATH, Infer.json("a", 0));
                Stage.posted(server);
            }
            server.awaitConnectionClosed();
        }
    }
}
