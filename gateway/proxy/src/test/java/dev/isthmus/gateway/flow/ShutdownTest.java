package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.gateway.upstream.FakeRestServer;
import io.grpc.CallOptions;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What clients receive for calls that a shutdown ends. */
class ShutdownTest {

    private static void expectTheTruth(Stage stage, String method, Waiting server) throws Exception {
        Metadata metadata = new Metadata();
        // A stream's failure is a status, not a message.
        metadata.put(Metadata.Key.of("isthmus-stream-form", Metadata.ASCII_STRING_MARSHALLER), "oip");
        GrpcClient client = GrpcClient.open(stage.channel(), method, metadata, CallOptions.DEFAULT, 10);
        client.send(Infer.request("m", "a", 1).toByteArray());
        client.end();
        server.await();
        stage.proxy().close();
        assertThat(client.status().getCode()).isEqualTo(Status.Code.UNAVAILABLE);
        assertThat(client.status().getDescription()).isEqualTo("the gateway is shutting down");
    }

    /** Completes when the server has the call. */
    @FunctionalInterface
    private interface Waiting {
        void await() throws Exception;
    }

    @ParameterizedTest
    @ValueSource(strings = {"ModelInfer", "ModelStreamInfer"})
    void callsToAGrpcServer(String method) throws Exception {
        FakeGrpcServer.Script silent = new FakeGrpcServer.Script() {
            @Override
            public void message(ServerCall<byte[], byte[]> call, byte[] message) {
                // It never responds.
            }

            @Override
            public void ended(ServerCall<byte[], byte[]> call) {
                // Nor does it end the call.
            }
        };
        try (FakeGrpcServer server = new FakeGrpcServer(silent);
                Stage stage = Stage.of(Stage.grpc(server, ServerDialect.MLSERVER))) {
            expectTheTruth(stage, method, () -> FakeGrpcServer.next(server.messages));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"ModelInfer", "ModelStreamInfer"})
    void callsToARestServer(String method) throws Exception {
        try (FakeRestServer server = FakeRestServer.that((request, out) -> true);
                Stage stage = Stage.of(Stage.rest(server, ServerDialect.MLSERVER))) {
            expectTheTruth(stage, method, () -> Stage.posted(server));
        }
    }
}
