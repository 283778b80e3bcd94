package dev.isthmus.gateway.flow;

import static dev.isthmus.gateway.upstream.FakeGrpcServer.next;
import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.net.LoggedEvents;
import dev.isthmus.gateway.settings.GatewayConfig.ErrorTexts;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.gateway.upstream.FakeRestServer;
import io.grpc.Metadata;
import io.grpc.Status;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** By default clients see what a server says about their own mistakes: {@code answers: errors: client_errors}. */
class ClientErrorTextsTest {
    private static final String WRONG_SHAPE =
            "unexpected shape for input 'INPUT0' for model 'simple'. Expected [-1,16], got [1,15]";

    @RegisterExtension
    final LoggedEvents logged = ErrorTextsStage.logged();

    /** @param there the model's name there */
    private static Stage stage(UpstreamConfig upstream, String there) throws Exception {
        return Stage.with(ErrorTextsStage.config(ErrorTexts.CLIENT_ERRORS, upstream, there));
    }

    private static Stage stage(FakeRestServer server) throws Exception {
        return stage(Stage.rest(server, ServerDialect.TRITON), "m");
    }

    private static String infer(Stage stage, String... headers) throws Exception {
        return ErrorTextsStage.infer(stage, headers).text();
    }

    private static Status inferOverGrpc(Stage stage) throws Exception {
        return ErrorTextsStage.inferOverGrpc(stage, new Metadata());
    }

    @ParameterizedTest
    @ValueSource(ints = {400, 404, 409, 413, 415, 418, 422})
    void textAboutAMistake_isShown_andNotLogged(int status) throws Exception {
        try (FakeRestServer server = FakeRestServer.refusing(status, WRONG_SHAPE);
                Stage stage = stage(server)) {
            assertThat(infer(stage)).isEqualTo("{\"error\":\"" + WRONG_SHAPE + "\"}");
            assertThat(inferOverGrpc(stage).getDescription()).isEqualTo(WRONG_SHAPE);
            assertThat(logged.messages()).isEmpty();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {401, 403, 429, 500, 501, 502, 503, 504})
    void otherText_isHidden(int status) throws Exception {
        try (FakeRestServer server = FakeRestServer.refusing(status, WRONG_SHAPE);
                Stage stage = stage(server)) {
            assertThat(infer(stage, "X-Request-Id: r-1"))
                    .contains(" (request id r-1)")
                    .doesNotContain("INPUT0");
            assertThat(inferOverGrpc(stage).getDescription()).doesNotContain("INPUT0");
            assertThat(logged.messages()).hasSize(2);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "INVALID_ARGUMENT,true",
        "NOT_FOUND,true",
        "ALREADY_EXISTS,true",
        "FAILED_PRECONDITION,true",
        "OUT_OF_RANGE,true",
        "ABORTED,true",
        "PERMISSION_DENIED,false",
        "UNAUTHENTICATED,false",
        "RESOURCE_EXHAUSTED,false",
        "UNIMPLEMENTED,false",
        "INTERNAL,false",
        "UNKNOWN,false",
        "UNAVAILABLE,false",
        "DATA_LOSS,false",
    })
    void grpcServersText_isShown_ifItIsAboutAMistake(String code, boolean shown) throws Exception {
        Status status = Status.fromCode(Status.Code.valueOf(code)).withDescription(WRONG_SHAPE);
        try (FakeGrpcServer server = FakeGrpcServer.failing(status);
                Stage stage = stage(Stage.grpc(server, ServerDialect.TRITON), "m")) {
            Status got = inferOverGrpc(stage);
            assertThat(got.getCode()).isEqualTo(status.getCode());
            assertThat(WRONG_SHAPE.equals(got.getDescription())).isEqualTo(shown);
            assertThat(infer(stage).contains(WRONG_SHAPE)).isEqualTo(shown);
        }
    }

    @Test
    void whatTellsOfTheServer_isReplaced_andLogged() throws Exception {
        try (FakeRestServer server = FakeRestServer.refusing(400, "no file /srv/x.onnx on db-7.internal");
                Stage stage = stage(server)) {
            assertThat(infer(stage, "X-Request-Id: r-1"))
                    .isEqualTo("{\"error\":\"no file [path] on [host] (request id r-1)\"}");
            assertThat(logged.messages())
                    .singleElement()
                    .asString()
                    .contains("r-1")
                    .contains("/srv/x.onnx on db-7.internal");
        }
    }

    @Test
    void textOfATraceAlone_isHidden() throws Exception {
        try (FakeRestServer server = FakeRestServer.refusing(400, "Traceback (most recent call last): secret");
                Stage stage = stage(server)) {
            assertThat(infer(stage, "X-Request-Id: r-1"))
                    .isEqualTo("{\"error\":\"the upstream server rejected the request: INVALID_ARGUMENT"
                            + " (request id r-1)\"}");
        }
    }

    @Test
    void textOfOneMessageOfAStream_isShown() throws Exception {
        String text = "[request id: x] unexpected shape for input 'a' for model 'm-v2' in /srv/x";
        try (FakeGrpcServer server = new FakeGrpcServer((call, message) -> call.sendMessage(Infer.error(text, "x")));
                Stage stage = stage(Stage.grpc(server, ServerDialect.TRITON), "m-v2")) {
            GrpcClient client = GrpcClient.open(stage.channel(), "ModelStreamInfer");
            client.send(Infer.request("m", "x", 1).toByteArray());
            assertThat(Infer.envelope(next(client.responses)).getErrorMessage())
                    .startsWith("[request id: x] unexpected shape for input 'a' for model 'm' in [path] (request id ");
            client.end();
            assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
        }
    }

    /** No server wrote it: it names the upstream. */
    @Test
    void serverThatSaysNothing_isNotNamed() throws Exception {
        try (FakeRestServer server = FakeRestServer.sending("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n");
                Stage stage = stage(server)) {
            assertThat(infer(stage)).startsWith("{\"error\":\"the upstream server rejected the request: NOT_FOUND");
        }
    }
}
