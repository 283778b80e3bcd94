package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.flow.GrpcWebClient.HttpVersion;
import dev.isthmus.gateway.grpc.GrpcWebForm;
import dev.isthmus.gateway.http2.Http2Client;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.proto.ModelStreamInferResponse;
import io.grpc.ServerCall;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Streams over gRPC-Web from a server that does not end them. */
class GrpcWebStreamTest {
    private static final String METHOD = GrpcWebClient.SERVICE + "ModelStreamInfer";
    private static final byte[] REQUEST =
            GrpcWebClient.frame(0, Infer.request("m", "one", 1).toByteArray());
    private static final String TYPE = "application/grpc-web+proto";

    private FakeGrpcServer server;
    private Stage stage;

    /** Sends a response to each request and leaves the call open. */
    private static final class Open implements FakeGrpcServer.Script {
        @Override
        public void message(ServerCall<byte[], byte[]> call, byte[] message) {
            call.sendMessage(ModelStreamInferResponse.newBuilder()
                    .setInferResponse(Infer.responseTo(Infer.request(message), 7))
                    .build()
                    .toByteArray());
        }

        @Override
        public void ended(ServerCall<byte[], byte[]> call) {}
    }

    @BeforeEach
    void start() throws Exception {
        server = new FakeGrpcServer(new Open());
        String yaml = """
                listeners: [{port: 0, grpc_web: true}]
                upstreams: {server: {protocol: grpc, dialect: triton, endpoints: ["127.0.0.1:PORT"]}}
                models: {m: {upstream: server}}
                health: {warm_up: 0s}
                """;
        stage = Stage.with(ConfigLoader.parse(
                "test.yaml",
                yaml.replace("PORT", Integer.toString(server.endpoint().port())),
                Path.of(".")));
    }

    @AfterEach
    void stop() {
        stage.close();
        server.close();
    }

    private void expectNothingHeld() {
        await().untilAsserted(() -> assertThat(stage.proxy()
                        .meters()
                        .find("isthmus.requests.under.way")
                        .gauges())
                .allMatch(gauge -> gauge.value() == 0));
        await().untilAsserted(() -> assertThat(stage.proxy()
                        .meters()
                        .get("isthmus.memory.used")
                        .gauge()
                        .value())
                .isZero());
    }

    @Test
    void response_arrivesBeforeTheStreamEnds_andEndsWithTheConnection() throws Exception {
        try (Http1Client client = new GrpcWebClient(stage.port(), HttpVersion.HTTP_1_1, GrpcWebForm.BINARY).connect()) {
            client.post(METHOD, REQUEST, "Content-Type: " + TYPE);
            assertThat(client.head().headers()).containsEntry("transfer-encoding", "chunked");
            assertThat(client.chunk()).contains("one");
        }
        server.awaitCancelled();
        expectNothingHeld();
    }

    @Test
    void response_arrivesBeforeTheStreamEnds_andEndsWithItsHttp2Stream() throws Exception {
        try (Http2Client client = new Http2Client(stage.port())) {
            Http2Client.Response response = client.post(METHOD, REQUEST, "content-type", TYPE);
            assertThat(response.part()).contains("one");
            response.cancel();
            server.awaitCancelled();
            expectNothingHeld();
        }
    }
}
