package dev.isthmus.gateway.flow;

import static dev.isthmus.gateway.flow.ErrorTextsStage.SECRET;
import static dev.isthmus.gateway.flow.ErrorTextsStage.infer;
import static dev.isthmus.gateway.flow.ErrorTextsStage.inferOverGrpc;
import static dev.isthmus.gateway.upstream.FakeGrpcServer.next;
import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.net.LoggedEvents;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.GatewayConfig.ErrorTexts;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.gateway.upstream.FakeRestServer;
import io.grpc.CallOptions;
import io.grpc.Metadata;
import io.grpc.Status;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What clients see of failures behind the gateway: {@code answers: errors}. */
class ErrorTextsTest {
    private static final String STREAM = "ModelStreamInfer";

    @RegisterExtension
    final LoggedEvents logged = ErrorTextsStage.logged();

    private static Stage stage(ErrorTexts errors, UpstreamConfig upstream) throws Exception {
        return Stage.with(ErrorTextsStage.config(errors, upstream, "m"));
    }

    private static FakeRestServer failing(int status) throws Exception {
        return FakeRestServer.refusing(status, SECRET);
    }

    private static FakeGrpcServer failing(Status status) throws Exception {
        return FakeGrpcServer.failing(status.withDescription(SECRET));
    }

    private static Metadata requestId(String id) {
        Metadata metadata = new Metadata();
        metadata.put(Metadata.Key.of("x-request-id", Metadata.ASCII_STRING_MARSHALLER), id);
        return metadata;
    }

    @ParameterizedTest
    @CsvSource({
        "400,the upstream server rejected the request: INVALID_ARGUMENT",
        "404,the upstream server rejected the request: NOT_FOUND",
        "429,the upstream server rejected the request: RESOURCE_EXHAUSTED",
        "500,the request failed: INTERNAL",
        "501,the upstream server does not support the request",
        "503,the upstream server is unavailable",
        "504,the upstream server did not respond in time",
    })
    void serversText_isHidden_andLogged(int status, String text) throws Exception {
        try (FakeRestServer server = failing(status);
                Stage stage = stage(ErrorTexts.GENERIC, Stage.rest(server, ServerDialect.TRITON))) {
            Http1Client.Response response = infer(stage, "X-Request-Id: abc-1");
            assertThat(response.status()).isEqualTo(status);
            assertThat(response.text()).isEqualTo("{\"error\":\"" + text + " (request id abc-1)\"}");
            Status grpc = inferOverGrpc(stage, requestId("abc-2"));
            assertThat(grpc.getDescription()).isEqualTo(text + " (request id abc-2)");
            assertThat(logged.messages())
                    .anySatisfy(line -> assertThat(line).contains("abc-1").contains(SECRET))
                    .anySatisfy(line -> assertThat(line).contains("abc-2").contains(SECRET));
        }
    }

    @Test
    void serversTextAboutAMistake_isShown_byDefault() {
        assertThat(GatewayConfig.DEFAULT.answers().errors()).isEqualTo(ErrorTexts.CLIENT_ERRORS);
    }

    @Test
    void serversText_isPassed_whereConfigured() throws Exception {
        try (FakeRestServer server = failing(400);
                Stage stage = stage(ErrorTexts.PASSED, Stage.rest(server, ServerDialect.TRITON))) {
            assertThat(infer(stage).text()).isEqualTo("{\"error\":\"" + SECRET + "\"}");
            assertThat(inferOverGrpc(stage, new Metadata()).getDescription()).isEqualTo(SECRET);
            assertThat(logged.messages()).isEmpty();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"INVALID_ARGUMENT", "INTERNAL", "UNAVAILABLE", "UNIMPLEMENTED", "PERMISSION_DENIED"})
    void grpcServersText_isHidden(String code) throws Exception {
        Status status = Status.fromCode(Status.Code.valueOf(code));
        try (FakeGrpcServer server = failing(status);
                Stage stage = stage(ErrorTexts.GENERIC, Stage.grpc(server, ServerDialect.TRITON))) {
            Status got = inferOverGrpc(stage, new Metadata());
            assertThat(got.getCode()).isEqualTo(status.getCode());
            assertThat(got.getDescription()).doesNotContain(SECRET).containsPattern("request id [0-9a-f]{32}");
            assertThat(infer(stage).text()).doesNotContain(SECRET);
        }
    }

    @Test
    void hiddenText_isLogged_withTheTraceOfTheCall() throws Exception {
        String trace = "0af7651916cd43dd8448eb211c80319c";
        try (FakeRestServer server = failing(500);
                Stage stage = stage(ErrorTexts.GENERIC, Stage.rest(server, ServerDialect.TRITON))) {
            infer(stage, "X-Request-Id: t-1", "Traceparent: 00-" + trace + "-b7ad6b7169203331-00");
            infer(stage, "X-Request-Id: t-2", "Traceparent: 00-" + trace + "-and so on");
        }
        assertThat(logged.messages())
                .anySatisfy(line -> assertThat(line).contains("request id t-1, trace id " + trace + ": "))
                .anySatisfy(line -> assertThat(line).contains("request id t-2: "));
    }

    @Test
    void requestId_thatIsNoPlainText_isNotRepeated() throws Exception {
        try (FakeRestServer server = failing(500);
                Stage stage = stage(ErrorTexts.GENERIC, Stage.rest(server, ServerDialect.TRITON))) {
            assertThat(infer(stage, "X-Request-Id: a\tb").text())
                    .matches("\\{\"error\":\"the request failed: INTERNAL \\(request id [0-9a-f]{32}\\)\"}");
            assertThat(infer(stage, "X-Request-Id: " + "a".repeat(200)).text()).doesNotContain("aaa");
        }
    }

    @Test
    void log_isMarkedAsWhatMayRepeat() throws Exception {
        try (FakeRestServer server = failing(400);
                Stage stage = stage(ErrorTexts.GENERIC, Stage.rest(server, ServerDialect.TRITON))) {
            infer(stage);
            assertThat(logged.all())
                    .singleElement()
                    .satisfies(event -> assertThat(event.getMarkerList()).contains(RepeatingLogEvent.MARKER));
        }
    }

    @Test
    void streamErrors_areHidden_oneByOne() throws Exception {
        try (FakeGrpcServer server = new FakeGrpcServer((call, message) -> call.sendMessage(Infer.error(SECRET, "x")));
                Stage stage = stage(ErrorTexts.GENERIC, Stage.grpc(server, ServerDialect.TRITON))) {
            GrpcClient client =
                    GrpcClient.open(stage.channel(), STREAM, requestId("s-1"), CallOptions.DEFAULT, Integer.MAX_VALUE);
            client.send(Infer.request("m", "x", 1).toByteArray());
            assertThat(Infer.envelope(next(client.responses)).getErrorMessage())
                    .isEqualTo("the request failed: UNKNOWN (request id s-1)");
            client.send(Infer.request("stranger", "y", 1).toByteArray());
            assertThat(Infer.envelope(next(client.responses)).getErrorMessage()).contains("unknown model 'stranger'");
            client.end();
            assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
            assertThat(logged.messages())
                    .singleElement()
                    .asString()
                    .contains("s-1")
                    .contains("'x'")
                    .contains(SECRET);
        }
    }

    private static FakeRestServer events(String body, int pieces) throws Exception {
        return FakeRestServer.that((request, out) -> {
            FakeRestServer.write(
                    out, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
            for (int from = 0; from < body.length(); from += pieces) {
                String part = body.substring(from, Math.min(body.length(), from + pieces));
                FakeRestServer.write(out, Integer.toHexString(part.length()) + "\r\n" + part + "\r\n");
            }
            FakeRestServer.write(out, "0\r\n\r\n");
            return true;
        });
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 7, 1000})
    void errorEvents_areHidden(int pieces) throws Exception {
        String good = "data: {\"text\":\"the \\\"error\\\" is data: {\\\"error\\\"\"}\r\n\r\n";
        String sent = good + ": data: {\"error\"\n\n" + "data: {\"error\":\"" + SECRET + "\"}\n\n"
                + "data:{ \"error\" : \"" + SECRET + "\"}\r\r" + good;
        String text = "\"the request failed: UNKNOWN (request id e-1)\"}";
        try (FakeRestServer server = events(sent, pieces);
                Stage stage = stage(ErrorTexts.GENERIC, Stage.rest(server, ServerDialect.TRITON));
                Http1Client client = stage.http1()) {
            client.post("/v2/models/m/generate_stream", "{}", "X-Request-Id: e-1")
                    .head();
            assertThat(client.chunks())
                    .isEqualTo(good + ": data: {\"error\"\n\n" + "data: {\"error\":" + text + "\n\n"
                            + "data:{ \"error\":" + text + "\r\r" + good);
            assertThat(logged.messages())
                    .hasSize(2)
                    .allSatisfy(line -> assertThat(line).contains("e-1").contains(SECRET));
        }
        try (FakeRestServer server = events(sent, pieces);
                Stage stage = stage(ErrorTexts.PASSED, Stage.rest(server, ServerDialect.TRITON));
                Http1Client client = stage.http1()) {
            client.post("/v2/models/m/generate_stream", "{}").head();
            assertThat(client.chunks()).isEqualTo(sent);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 1000})
    void errorEvent_withoutLineBreakAtTheEnd_isHidden(int pieces) throws Exception {
        String good = "data: {}\n\n";
        try (FakeRestServer server = events(good + "data: {\"error\":\"" + SECRET + "\"}", pieces);
                Stage stage = stage(ErrorTexts.GENERIC, Stage.rest(server, ServerDialect.TRITON));
                Http1Client client = stage.http1()) {
            client.post("/v2/models/m/generate_stream", "{}", "X-Request-Id: e-1")
                    .head();
            assertThat(client.chunks())
                    .isEqualTo(good + "data: {\"error\":\"the request failed: UNKNOWN (request id e-1)\"}");
        }
    }

    @Test
    void inferEvents_andGenerate_areHidden() throws Exception {
        try (FakeRestServer server = failing(400);
                Stage stage = stage(ErrorTexts.GENERIC, Stage.rest(server, ServerDialect.MLSERVER));
                Http1Client client = stage.http1()) {
            for (String path : List.of("/v2/models/m/generate", "/v2/models/m/infer_stream")) {
                Http1Client.Response response =
                        client.post(path, Infer.json("a", 0)).response();
                assertThat(response.status()).isEqualTo(400);
                assertThat(response.text()).contains("INVALID_ARGUMENT").doesNotContain(SECRET);
            }
        }
        String first = "data: " + Infer.responseJson("m", "a", 0) + "\n\n";
        try (FakeRestServer server = events(first + "data: {\"error\":\"" + SECRET + "\"}\n\n", 9);
                Stage stage = stage(ErrorTexts.GENERIC, Stage.rest(server, ServerDialect.MLSERVER));
                Http1Client client = stage.http1()) {
            client.post("/v2/models/m/infer_stream", Infer.json("a", 0)).head();
            assertThat(client.chunks())
                    .startsWith(first + "data: {\"error\":\"the request failed: UNKNOWN (request id ")
                    .endsWith(")\"}\n\n");
        }
    }
}
