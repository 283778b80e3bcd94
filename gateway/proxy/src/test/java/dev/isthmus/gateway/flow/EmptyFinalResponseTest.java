package dev.isthmus.gateway.flow;

import static dev.isthmus.gateway.upstream.FakeRestServer.ok;
import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.gateway.upstream.FakeRestServer;
import dev.isthmus.proto.InferParameter;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.proto.ModelInferResponse;
import dev.isthmus.proto.ModelStreamInferResponse;
import io.grpc.Metadata;
import io.grpc.Status;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * {@code triton_enable_empty_final_response}, which only Triton's streams know, towards other servers: as Triton itself,
 * the gateway marks the only response to a request as its last, and sends an empty one after several.
 */
class EmptyFinalResponseTest {
    private static final String EMPTY_FINAL = "triton_enable_empty_final_response";
    private static final String FINAL = "triton_final_response";
    private static final InferParameter TRUE =
            InferParameter.newBuilder().setBoolParam(true).build();

    private static byte[] request(String id, boolean marked) {
        ModelInferRequest.Builder request = Infer.request("m", id, 3).toBuilder();
        if (marked) {
            request.putParameters(EMPTY_FINAL, TRUE).putParameters("own", TRUE);
        }
        return request.build().toByteArray();
    }

    private static GrpcClient open(Stage stage) {
        return GrpcClient.open(stage.channel(), "ModelStreamInfer");
    }

    private static void expectMarked(byte[] message, String id, boolean marked) {
        ModelInferResponse response = Infer.envelope(message).getInferResponse();
        assertThat(response.getId()).isEqualTo(id);
        assertThat(Infer.value(response)).isEqualTo(7);
        assertThat(response.containsParameters(FINAL)).isEqualTo(marked);
        assertThat(response.getParametersOrDefault(FINAL, TRUE)).isEqualTo(TRUE);
    }

    private static void expectDropped(FakeRestServer server) throws Exception {
        assertThat(Stage.posted(server).body()).contains("\"own\":true").doesNotContain("triton_");
    }

    private static FakeRestServer rest() throws Exception {
        return FakeRestServer.sending(ok(Infer.responseJson("m", "a", 7)));
    }

    @ParameterizedTest
    @CsvSource({"TRITON, true", "GENERIC, false"})
    void stream_toAServerWithOneResponse_marksItAndSendsNoOther(ServerDialect dialect, boolean alwaysMarked)
            throws Exception {
        try (FakeRestServer server = rest();
                Stage stage = Stage.of(Stage.rest(server, dialect))) {
            GrpcClient client = open(stage);
            client.send(request("a", true));
            expectMarked(client.response(), "a", true);
            expectDropped(server);
            client.send(request("a", false));
            client.end();
            expectMarked(client.response(), "a", alwaysMarked);
            assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
            assertThat(client.responses).isEmpty();
        }
    }

    @Test
    void stream_toAGrpcServerWithoutStreams_marksTheResponse() throws Exception {
        try (FakeGrpcServer server = new FakeGrpcServer((call, message) -> call.sendMessage(
                        Infer.responseTo(Infer.request(message), 7).toByteArray()));
                Stage stage = Stage.of(Stage.grpc(server, ServerDialect.KSERVE))) {
            GrpcClient client = open(stage);
            client.send(request("a", true)).send(request("b", false));
            client.end();
            expectMarked(client.response(), "a", true);
            expectMarked(client.response(), "b", false);
            assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
            assertThat(client.responses).isEmpty();
        }
    }

    @Test
    void stream_toAServerWithSeveralResponses_endsWithAnEmptyOne() throws Exception {
        String events = ("data: " + Infer.responseJson("m", "a", 7) + "\n\n").repeat(2);
        try (FakeRestServer server = FakeRestServer.sending("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                        + "Content-Length: " + events.length() + "\r\n\r\n" + events);
                Stage stage = Stage.of(Stage.rest(server, ServerDialect.MLSERVER))) {
            GrpcClient client = open(stage);
            client.send(request("a", true));
            client.end();
            expectMarked(client.response(), "a", false);
            expectMarked(client.response(), "a", false);
            ModelInferResponse last = Infer.envelope(client.response()).getInferResponse();
            assertThat(last.getOutputsCount()).isZero();
            assertThat(last.getParametersMap()).containsEntry(FINAL, TRUE);
            assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
            expectDropped(server);
        }
    }

    @Test
    void stream_failure_isTheLastResponse() throws Exception {
        try (FakeRestServer server = FakeRestServer.sending(
                        "HTTP/1.1 400 Bad\r\nContent-Length: 21\r\n\r\n{\"error\":\"it is bad\"}");
                Stage stage = Stage.of(Stage.rest(server, ServerDialect.TRITON))) {
            GrpcClient client = open(stage);
            client.send(request("a", true));
            client.end();
            ModelStreamInferResponse error = Infer.envelope(client.response());
            assertThat(error.getErrorMessage()).isEqualTo("it is bad");
            assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
            assertThat(client.responses).isEmpty();
        }
    }

    @Test
    void unary_overGrpc_isSentWithoutIt() throws Exception {
        try (FakeRestServer server = rest();
                Stage stage = Stage.of(Stage.rest(server, ServerDialect.TRITON))) {
            GrpcClient client = GrpcClient.ask(stage.channel(), "ModelInfer", new Metadata(), request("a", true));
            ModelInferResponse response = Infer.response(client.response());
            assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
            assertThat(response.getParametersMap()).isEmpty();
            expectDropped(server);
        }
    }

    @Test
    void unary_overRest_isSentWithoutIt() throws Exception {
        try (FakeRestServer server = rest();
                Stage stage = Stage.of(Stage.rest(server, ServerDialect.GENERIC));
                Http1Client client = stage.http1()) {
            String parameters = "{\"parameters\":{\"" + EMPTY_FINAL + "\":true,\"own\":true},";
            String body = parameters + Infer.json("a", 1).substring(1);
            assertThat(client.post("/v2/models/m/infer", body).response().status())
                    .isEqualTo(200);
            expectDropped(server);
        }
    }
}
