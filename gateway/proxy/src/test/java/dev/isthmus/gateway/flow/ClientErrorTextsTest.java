package dev.isthmus.gateway.flow;

import static dev.isthmus.gateway.upstream.FakeGrpcServer.next;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.isthmus.gateway.settings.GatewayConfig.ErrorTexts;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.gateway.upstream.FakeRestServer;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

/** By default clients see what a server says about their own mistakes: {@code answers: errors: client_errors}. */
class ClientErrorTextsTest {
    private static final String WRONG_SHAPE =
            "unexpected shape for input 'INPUT0' for model 'simple'. Expected [-1,16], got [1,15]";
    private static final String INFER = "/v2/models/m/infer";

    private final Logger log = (Logger) LoggerFactory.getLogger("dev.isthmus.gateway.dispatch.GenericErrorTexts");
    private final ListAppender<ILoggingEvent> told = new ListAppender<>();

    @BeforeEach
    void listen() {
        told.start();
        log.setLevel(Level.INFO);
        log.addAppender(told);
    }

    @AfterEach
    void listenNoMore() {
        log.detachAppender(told);
        log.setLevel(null);
    }

    private List<String> lines() {
        return List.copyOf(told.list).stream()
                .map(ILoggingEvent::getFormattedMessage)
                .toList();
    }

    /** @param there the model's name there */
    private static Stage stage(UpstreamConfig upstream, String there) throws Exception {
        return Stage.telling(
                ErrorTexts.CLIENT_ERRORS,
                Map.of("server", TestConfigs.with(upstream, Map.of("retry", UpstreamConfig.Retry.DEFAULT))),
                Map.of("m", TestConfigs.with(ModelConfig.of("server"), Map.of("model", there))),
                null);
    }

    private static FakeRestServer saying(int status, String text) throws Exception {
        String body = "{\"error\":\"" + text + "\"}";
        return FakeRestServer.sending(
                "HTTP/1.1 " + status + " No\r\nContent-Length: " + body.length() + "\r\n\r\n" + body);
    }

    private record Failing(Status status) implements FakeGrpcServer.Script {
        @Override
        public void message(ServerCall<byte[], byte[]> call, byte[] message) {
            call.close(status, new Metadata());
        }

        @Override
        public void ended(ServerCall<byte[], byte[]> call) {}
    }

    private static String infer(Stage stage, String... headers) throws Exception {
        try (Http1Client client = stage.http1()) {
            return client.post(INFER, Infer.json("a", 0), headers).response().text();
        }
    }

    private static Status inferOverGrpc(Stage stage) throws Exception {
        byte[] request = Infer.request("m", "a", 1).toByteArray();
        return GrpcClient.ask(stage.channel(), "ModelInfer", new Metadata(), request)
                .status();
    }

    @ParameterizedTest
    @ValueSource(ints = {400, 404, 409, 413, 415, 418, 422})
    void textAboutAMistake_isShown_andNotLogged(int status) throws Exception {
        try (FakeRestServer server = saying(status, WRONG_SHAPE);
                Stage stage = stage(Stage.rest(server, ServerDialect.TRITON), "m")) {
            assertThat(infer(stage)).isEqualTo("{\"error\":\"" + WRONG_SHAPE + "\"}");
            assertThat(inferOverGrpc(stage).getDescription()).isEqualTo(WRONG_SHAPE);
            assertThat(lines()).isEmpty();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {401, 403, 429, 500, 501, 502, 503, 504})
    void otherText_isHidden(int status) throws Exception {
        try (FakeRestServer server = saying(status, WRONG_SHAPE);
                Stage stage = stage(Stage.rest(server, ServerDialect.TRITON), "m")) {
            assertThat(infer(stage, "X-Request-Id: r-1"))
                    .contains(" (request id r-1)")
                    .doesNotContain("INPUT0");
            assertThat(inferOverGrpc(stage).getDescription()).doesNotContain("INPUT0");
            assertThat(lines()).hasSize(2);
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
        try (FakeGrpcServer server = new FakeGrpcServer(new Failing(status));
                Stage stage = stage(Stage.grpc(server, ServerDialect.TRITON), "m")) {
            Status got = inferOverGrpc(stage);
            assertThat(got.getCode()).isEqualTo(status.getCode());
            assertThat(WRONG_SHAPE.equals(got.getDescription())).isEqualTo(shown);
            assertThat(infer(stage).contains(WRONG_SHAPE)).isEqualTo(shown);
        }
    }

    @Test
    void whatTellsOfTheServer_isReplaced_andLogged() throws Exception {
        try (FakeRestServer server = saying(400, "no file /srv/x.onnx on db-7.internal");
                Stage stage = stage(Stage.rest(server, ServerDialect.TRITON), "m")) {
            assertThat(infer(stage, "X-Request-Id: r-1"))
                    .isEqualTo("{\"error\":\"no file [path] on [host] (request id r-1)\"}");
            assertThat(lines()).singleElement().asString().contains("r-1").contains("/srv/x.onnx on db-7.internal");
        }
    }

    @Test
    void textOfATraceAlone_isHidden() throws Exception {
        try (FakeRestServer server = saying(400, "Traceback (most recent call last): secret");
                Stage stage = stage(Stage.rest(server, ServerDialect.TRITON), "m")) {
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
            assertThat(Infer.envelope(next(client.answers)).getErrorMessage())
                    .startsWith("[request id: x] unexpected shape for input 'a' for model 'm' in [path] (request id ");
            client.end();
            assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
        }
    }

    /** No server wrote it: it names the upstream. */
    @Test
    void serverThatSaysNothing_isNotNamed() throws Exception {
        try (FakeRestServer server = FakeRestServer.sending("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n");
                Stage stage = stage(Stage.rest(server, ServerDialect.TRITON), "m")) {
            assertThat(infer(stage)).startsWith("{\"error\":\"the upstream server rejected the request: NOT_FOUND");
        }
    }
}
