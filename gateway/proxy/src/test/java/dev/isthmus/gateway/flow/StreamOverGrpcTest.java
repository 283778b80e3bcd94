package dev.isthmus.gateway.flow;

import static dev.isthmus.gateway.upstream.FakeGrpcServer.next;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.proto.InferParameter;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.proto.ModelInferResponse;
import dev.isthmus.proto.ModelStreamInferResponse;
import io.grpc.CallOptions;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** ModelStreamInfer between a gRPC client and gRPC servers. */
class StreamOverGrpcTest {
    private static final String STREAM = "ModelStreamInfer";

    /** Responds as often as the request says, and marks the last response; "bad" fails, "die" and "leave" end the call. */
    private record Counting(boolean enveloped) implements FakeGrpcServer.Script {
        @Override
        public void message(ServerCall<byte[], byte[]> call, byte[] message) {
            ModelInferRequest request = Infer.request(message);
            switch (request.getId()) {
                case "bad" -> call.sendMessage(Infer.error("it is bad", "bad"));
                case "die" -> call.close(Status.RESOURCE_EXHAUSTED.withDescription("no more of that"), new Metadata());
                case "leave" -> call.close(Status.OK, new Metadata());
                case "silent" -> {}
                case "malformed" -> call.sendMessage(new byte[] {0x0a, 0x7f});
                default -> {
                    for (int i = 0; i < Infer.value(request); i++) {
                        ModelInferResponse response = Infer.responseTo(request, i);
                        call.sendMessage(enveloped ? Infer.enveloped(response) : response.toByteArray());
                    }
                }
            }
        }
    }

    private static GrpcClient open(Stage stage, String... metadata) {
        return GrpcClient.open(stage.channel(), STREAM, metadata(metadata), CallOptions.DEFAULT, Integer.MAX_VALUE);
    }

    private static Metadata metadata(String... pairs) {
        Metadata metadata = new Metadata();
        for (int i = 0; i < pairs.length; i += 2) {
            metadata.put(Metadata.Key.of(pairs[i], Metadata.ASCII_STRING_MARSHALLER), pairs[i + 1]);
        }
        return metadata;
    }

    private static byte[] request(String model, String id, int count) {
        return Infer.request(model, id, count).toByteArray();
    }

    private static void expectEnvelope(GrpcClient client, String model, String id, int value) throws Exception {
        ModelInferResponse response = Infer.envelope(client.response()).getInferResponse();
        assertThat(response.getModelName()).isEqualTo(model);
        assertThat(response.getId()).isEqualTo(id);
        assertThat(Infer.value(response)).isEqualTo(value);
    }

    private static void expectError(GrpcClient client, String id, String text) throws Exception {
        ModelStreamInferResponse error = Infer.envelope(client.response());
        assertThat(error.getErrorMessage()).startsWith(text);
        assertThat(error.getInferResponse().getId()).isEqualTo(id);
    }

    @ParameterizedTest
    @CsvSource({
        "TRITON, true",
        "MLSERVER, false",
        "OVMS, true",
        "GENERIC, true",
        "GENERIC, false",
        "AUTO, true",
        "AUTO, false"
    })
    void responses_ofEitherShape_comeInOrderInTheShapeTheClientWants(ServerDialect dialect, boolean enveloped)
            throws Exception {
        try (FakeGrpcServer server = new FakeGrpcServer(new Counting(enveloped));
                Stage stage = Stage.of(Stage.grpc(server, dialect))) {
            GrpcClient triton = open(stage);
            triton.send(request("m", "a", 3)).send(request("m", "b", 2));
            for (int i = 0; i < 3; i++) {
                expectEnvelope(triton, "m", "a", i);
            }
            expectEnvelope(triton, "m", "b", 0);
            expectEnvelope(triton, "m", "b", 1);
            triton.end();
            assertThat(triton.status().getCode()).isEqualTo(Status.Code.OK);
            assertThat(next(server.halfClosed)).isEqualTo(STREAM);

            GrpcClient bare = open(stage, "isthmus-stream-form", "oip");
            bare.send(request("m", "c", 2));
            bare.end();
            for (int i = 0; i < 2; i++) {
                ModelInferResponse response = Infer.response(bare.response());
                assertThat(response.getId()).isEqualTo("c");
                assertThat(Infer.value(response)).isEqualTo(i);
            }
            assertThat(bare.status().getCode()).isEqualTo(Status.Code.OK);
            assertThat(triton.responses).isEmpty();
        }
    }

    @Test
    void end_rightAfterTheFirstRequest_getsAResponseAllTheSame() throws Exception {
        try (FakeGrpcServer server = new FakeGrpcServer(new Counting(true));
                Stage stage = Stage.of(Stage.grpc(server, ServerDialect.TRITON))) {
            for (int i = 0; i < 20; i++) {
                GrpcClient client = open(stage);
                client.send(request("m", "a", 1));
                client.end();
                expectEnvelope(client, "m", "a", 0);
                assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
            }
        }
    }

    @Test
    void stream_withoutRequests_endsWell() throws Exception {
        try (FakeGrpcServer server = new FakeGrpcServer(new Counting(true));
                Stage stage = Stage.of(Stage.grpc(server, ServerDialect.TRITON))) {
            GrpcClient client = open(stage);
            client.end();
            assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
        }
    }

    @Test
    void error_inTheStream_isReported_andTheStreamGoesOn() throws Exception {
        try (FakeGrpcServer server = new FakeGrpcServer(new Counting(true));
                Stage stage = Stage.of(Stage.grpc(server, ServerDialect.TRITON))) {
            GrpcClient client = open(stage);
            client.send(request("m", "bad", 1)).send(request("m", "a", 1));
            ModelStreamInferResponse error = Infer.envelope(client.response());
            assertThat(error.getErrorMessage()).isEqualTo("it is bad");
            assertThat(error.getInferResponse().getId()).isEqualTo("bad");
            expectEnvelope(client, "m", "a", 0);
            client.end();
            assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
        }
    }

    @ParameterizedTest
    @CsvSource({"triton_grpc_error, true", "isthmus-stream-form, oip"})
    void error_forAClientThatWantsAStatus_endsTheStream(String header, String value) throws Exception {
        try (FakeGrpcServer server = new FakeGrpcServer(new Counting(true));
                Stage stage = Stage.of(Stage.grpc(server, ServerDialect.TRITON))) {
            GrpcClient client = open(stage, header, value);
            client.send(request("m", "bad", 1)).send(request("m", "a", 1));
            assertThat(client.status().getDescription()).isEqualTo("it is bad");
            assertThat(client.status().getCode()).isEqualTo(Status.Code.UNKNOWN);
            assertThat(client.responses).isEmpty();
            assertThat(next(server.cancelled)).isEqualTo(STREAM);
            assertThat(next(server.opened).headers().keys()).doesNotContain("triton_grpc_error");
        }
    }

    @Test
    void models_ofSeveralServers_shareOneStream() throws Exception {
        try (FakeGrpcServer one = new FakeGrpcServer(new Counting(true));
                FakeGrpcServer other = new FakeGrpcServer(new Counting(false));
                Stage stage = new Stage(
                        Map.of(
                                "one", Stage.grpc(one, ServerDialect.TRITON),
                                "other", Stage.grpc(other, ServerDialect.MLSERVER)),
                        Map.of("a", "one", "b", "one", "c", "other"),
                        null)) {
            GrpcClient client = open(stage);
            client.send(request("a", "1", 1));
            expectEnvelope(client, "a", "1", 0);
            client.send(request("c", "2", 1));
            expectEnvelope(client, "c", "2", 0);
            client.send(request("b", "3", 1));
            expectEnvelope(client, "b", "3", 0);
            client.send(request("nobody's", "4", 1));
            ModelStreamInferResponse error = Infer.envelope(client.response());
            assertThat(error.getErrorMessage()).isEqualTo("unknown model 'nobody's'");
            assertThat(error.getInferResponse().getId()).isEqualTo("4");
            client.send(request("a", "5", 1));
            expectEnvelope(client, "a", "5", 0);
            client.end();
            assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
            // One stream per model, so that sequences stay in order.
            assertThat(one.opened).hasSize(2);
            assertThat(other.opened).hasSize(1);
        }
    }

    @Test
    void request_malformed_isReported_andTheStreamGoesOn() throws Exception {
        try (FakeGrpcServer server = new FakeGrpcServer(new Counting(true));
                Stage stage = Stage.of(Stage.grpc(server, ServerDialect.TRITON))) {
            GrpcClient client = open(stage);
            client.send(new byte[] {0x0a, 0x7f});
            assertThat(Infer.envelope(client.response()).getErrorMessage()).contains("malformed");
            client.send(request("m", "a", 1));
            expectEnvelope(client, "m", "a", 0);
            client.end();
            assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
        }
    }

    @Test
    void client_cancels_serverSeesIt() throws Exception {
        try (FakeGrpcServer server = new FakeGrpcServer(new Counting(true));
                Stage stage = Stage.of(Stage.grpc(server, ServerDialect.TRITON))) {
            GrpcClient client = open(stage);
            client.send(request("m", "a", 1)).send(request("other", "b", 1));
            client.response();
            client.response();
            client.cancel();
            assertThat(next(server.cancelled)).isEqualTo(STREAM);
            assertThat(next(server.cancelled)).isEqualTo(STREAM);
        }
    }

    @Test
    void serversStream_endsWithAStatus_isOneFailedResponse_andTheNextRequestOpensANewOne() throws Exception {
        try (FakeGrpcServer server = new FakeGrpcServer(new Counting(true));
                FakeGrpcServer other = new FakeGrpcServer(new Counting(true));
                Stage stage = new Stage(
                        Map.of(
                                "one", Stage.grpc(server, ServerDialect.GENERIC),
                                "other", Stage.grpc(other, ServerDialect.TRITON)),
                        Map.of("m", "one", "o", "other"),
                        null)) {
            GrpcClient client = open(stage);
            client.send(request("o", "a", 1));
            expectEnvelope(client, "o", "a", 0);
            client.send(request("m", "die", 1));
            expectError(client, "die", "no more of that");
            client.send(request("m", "b", 1));
            expectEnvelope(client, "m", "b", 0);
            client.send(request("o", "c", 1));
            expectEnvelope(client, "o", "c", 0);
            client.end();
            assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
            assertThat(server.opened).hasSize(2);
            assertThat(other.opened).hasSize(1);
        }
    }

    @Test
    void serversStream_endsWithAStatus_failsEachRequestThatWaitsOnIt() throws Exception {
        try (FakeGrpcServer server = new FakeGrpcServer(new Counting(true));
                Stage stage = Stage.of(Stage.grpc(server, ServerDialect.TRITON))) {
            GrpcClient client = open(stage);
            client.send(request("m", "a", 1));
            expectEnvelope(client, "m", "a", 0);
            client.send(request("m", "silent", 1)).send(request("m", "die", 1));
            expectError(client, "silent", "no more of that");
            expectError(client, "die", "no more of that");
            client.end();
            assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
            assertThat(client.responses).isEmpty();
        }
    }

    @Test
    void streamOfTheServer_thatEndsWellTooEarly_failsWhatWaits_andTheStreamGoesOn() throws Exception {
        try (FakeGrpcServer server = new FakeGrpcServer(new Counting(true));
                Stage stage = Stage.of(Stage.grpc(server, ServerDialect.GENERIC))) {
            GrpcClient client = open(stage);
            client.send(request("m", "a", 1)).send(request("m", "leave", 1));
            expectEnvelope(client, "m", "a", 0);
            expectError(client, "leave", "upstream 'server' ended its stream without a response to the request");
            client.send(request("m", "b", 1));
            expectEnvelope(client, "m", "b", 0);
            client.end();
            assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
            assertThat(client.responses).isEmpty();
        }
    }

    @ParameterizedTest
    @CsvSource({"triton_grpc_error, true", "isthmus-stream-form, oip"})
    void serversStream_endsWithAStatus_forAClientThatWantsAStatus_endsTheStream(String header, String value)
            throws Exception {
        try (FakeGrpcServer server = new FakeGrpcServer(new Counting(true));
                Stage stage = Stage.of(Stage.grpc(server, ServerDialect.TRITON))) {
            GrpcClient client = open(stage, header, value);
            client.send(request("other", "a", 1));
            client.response();
            client.send(request("m", "silent", 1)).send(request("m", "die", 1));
            assertThat(client.status().getCode()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
            assertThat(client.status().getDescription()).isEqualTo("no more of that");
            assertThat(next(server.cancelled)).isEqualTo(STREAM);
            assertThat(client.responses).isEmpty();
        }
    }

    /** Marks its only response as the last one, and ends the stream when it gets the request "die". */
    private static final class Marking implements FakeGrpcServer.Script {
        @Override
        public void message(ServerCall<byte[], byte[]> call, byte[] message) {
            ModelInferRequest request = Infer.request(message);
            InferParameter last = InferParameter.newBuilder().setBoolParam(true).build();
            call.sendMessage(Infer.enveloped(Infer.responseTo(request, 1).toBuilder()
                    .putParameters("triton_final_response", last)
                    .build()));
            call.close(Status.UNAVAILABLE.withDescription("gone"), new Metadata());
        }
    }

    @Test
    void serversStream_endsBetweenRequests_isNotNoticed() throws Exception {
        try (FakeGrpcServer server = new FakeGrpcServer(new Marking());
                Stage stage = Stage.of(Stage.grpc(server, ServerDialect.TRITON))) {
            GrpcClient client = open(stage);
            for (int i = 0; i < 3; i++) {
                client.send(request("m", "a" + i, 1));
                expectEnvelope(client, "m", "a" + i, 1);
                int opened = i + 1;
                await().atMost(Duration.ofSeconds(20))
                        .until(() -> stage.proxy()
                                        .meters()
                                        .get("isthmus.upstream.under.way")
                                        .gauge()
                                        .value()
                                == 0);
                assertThat(server.opened).hasSize(opened);
            }
            client.end();
            assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
            assertThat(client.responses).isEmpty();
        }
    }

    @Test
    void server_vanishesMidStream_isUnavailable_andTheStreamGoesOn() throws Exception {
        try (FakeGrpcServer server = new FakeGrpcServer(new Counting(true));
                Stage stage = Stage.of(Stage.grpc(server, ServerDialect.TRITON))) {
            GrpcClient client = open(stage);
            client.send(request("m", "a", 1));
            expectEnvelope(client, "m", "a", 0);
            client.send(request("m", "silent", 1));
            next(server.messages);
            next(server.messages);
            server.stop();
            expectError(client, "silent", "upstream 'server' ");
            client.send(request("m", "b", 1));
            expectError(client, "b", "upstream 'server' ");
            client.end();
            assertThat(client.status().getCode()).isEqualTo(Status.Code.OK);
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = ServerDialect.class,
            names = {"TRITON", "GENERIC"})
    void server_sendsWhatIsNoMessage_failsTheRequest(ServerDialect dialect) throws Exception {
        try (FakeGrpcServer server = new FakeGrpcServer(new Counting(true));
                Stage stage = Stage.of(Stage.grpc(server, dialect))) {
            GrpcClient client = open(stage);
            client.send(request("m", "malformed", 1));
            ModelStreamInferResponse error = Infer.envelope(client.response());
            assertThat(error.getErrorMessage()).contains("violates the protocol");
            assertThat(error.getInferResponse().getId()).isEqualTo("malformed");
            assertThat(next(server.cancelled)).isEqualTo(STREAM);
            client.send(request("m", "a", 1));
            expectEnvelope(client, "m", "a", 0);
        }
    }
}
