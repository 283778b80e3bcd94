package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.proto.InferParameter;
import dev.isthmus.proto.InferTensorContents;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.proto.ModelInferResponse;
import io.grpc.Metadata;
import org.junit.jupiter.api.Test;

/** Requests with typed contents that a gRPC server does not get as they are. */
class TypedContentsTest {
    /** MLServer has no parameters of type double, so the request is written anew, with raw contents. */
    @Test
    void response_toARequestThatWasWrittenAnew_isTypedToo() throws Exception {
        ModelInferRequest raw = Infer.request("m", "a", 3);
        ModelInferRequest typed = raw.toBuilder()
                .clearRawInputContents()
                .setInputs(
                        0,
                        raw.getInputs(0).toBuilder()
                                .setContents(InferTensorContents.newBuilder().addIntContents(3)))
                .putParameters(
                        "p", InferParameter.newBuilder().setDoubleParam(0.5).build())
                .build();
        try (FakeGrpcServer server = new FakeGrpcServer((call, message) -> call.sendMessage(
                        Infer.responseTo(Infer.request(message), 7).toByteArray()));
                Stage stage = Stage.of(Stage.grpc(server, ServerDialect.MLSERVER))) {
            GrpcClient client = GrpcClient.ask(stage.channel(), "ModelInfer", new Metadata(), typed.toByteArray());
            ModelInferResponse response = Infer.response(client.response());
            assertThat(response.getRawOutputContentsList()).isEmpty();
            assertThat(response.getOutputs(0).getContents().getIntContentsList())
                    .containsExactly(7);
            ModelInferRequest seen = Infer.request(FakeGrpcServer.next(server.messages));
            assertThat(Infer.value(seen)).isEqualTo(3);
            assertThat(seen.getParametersOrThrow("p").getStringParam()).isEqualTo("0.5");
        }
    }
}
