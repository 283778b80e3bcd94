package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.QueueConfig;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.proto.InferParameter;
import dev.isthmus.proto.ModelInferRequest;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Calls of real clients that wait for a server with one call at a time. */
class QueuedCallsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final String PATH = "/v2/models/m/infer";

    private final List<String> order = new CopyOnWriteArrayList<>();
    private final BlockingQueue<Runnable> answers = new LinkedBlockingQueue<>();

    /** Answers when the test lets it. */
    private FakeGrpcServer server() throws Exception {
        return new FakeGrpcServer(new FakeGrpcServer.Script() {
            @Override
            public void message(ServerCall<byte[], byte[]> call, byte[] message) {
                ModelInferRequest request = Infer.request(message);
                order.add(request.getId());
                answers.add(() -> FakeGrpcServer.respond(
                        call, Infer.responseTo(request, 1).toByteArray()));
            }

            @Override
            public boolean respondsAtOnce() {
                return false;
            }

            @Override
            public void ended(ServerCall<byte[], byte[]> call) {}
        });
    }

    private static UpstreamConfig queued(FakeGrpcServer server) {
        QueueConfig queue = new QueueConfig(10, 10, Duration.ofMinutes(1), 0, Map.of(), Map.of(), Map.of(), 3);
        return TestConfigs.with(Stage.grpc(server, ServerDialect.GENERIC), Map.of("maxRequests", 1, "queue", queue));
    }

    private static Stage stage(FakeGrpcServer server) throws Exception {
        return Stage.of(queued(server));
    }

    /** The server is that of the fallback. */
    private static Stage behind(FakeGrpcServer target, FakeGrpcServer server) throws Exception {
        ModelConfig.Fallback fallback =
                TestConfigs.with(DefaultValues.of(ModelConfig.Fallback.class), Map.of("upstream", "server"));
        return Stage.with(Stage.config(
                Map.of("target", Stage.grpc(target, ServerDialect.GENERIC), "server", queued(server)),
                Map.of("m", TestConfigs.with(ModelConfig.of("target"), Map.of("fallback", fallback))),
                DefaultValues.of(GatewayConfig.HealthConfig.class),
                null,
                false));
    }

    private static FakeGrpcServer unavailable() throws Exception {
        return FakeGrpcServer.unary((message, call) -> call.close(Status.UNAVAILABLE, new Metadata()));
    }

    private static void awaitWaiting(Stage stage, int calls) {
        await().atMost(PATIENCE)
                .until(() -> stage.proxy()
                                .meters()
                                .get("isthmus.upstream.queue.waiting")
                                .gauge()
                                .value()
                        == calls);
    }

    private static String json(String id, String parameters) {
        return Infer.json(id, 1).replaceFirst("\\{", "{\"parameters\":{" + parameters + "},");
    }

    private void answer() throws InterruptedException {
        FakeGrpcServer.next(answers).run();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void prioritiesOfBothProtocols_orderTheCallsOfAClient(boolean fallback) throws Exception {
        try (FakeGrpcServer server = server();
                FakeGrpcServer target = unavailable();
                Stage stage = fallback ? behind(target, server) : stage(server);
                Http1Client first = stage.http1();
                Http1Client low = stage.http1();
                Http1Client plain = stage.http1()) {
            first.post(PATH, Infer.json("first", 1));
            Runnable firstAnswer = FakeGrpcServer.next(answers);
            low.post(PATH, json("low", "\"priority\":3"));
            awaitWaiting(stage, 1);
            plain.post(PATH, Infer.json("plain", 1));
            awaitWaiting(stage, 2);
            ModelInferRequest request = Infer.request("m", "high", 1).toBuilder()
                    .putParameters(
                            "priority",
                            InferParameter.newBuilder().setInt64Param(1).build())
                    .build();
            GrpcClient high = GrpcClient.ask(stage.channel(), "ModelInfer", new Metadata(), request.toByteArray());
            awaitWaiting(stage, 3);

            firstAnswer.run();
            for (int i = 0; i < 3; i++) {
                answer();
            }

            assertThat(first.response().status()).isEqualTo(200);
            assertThat(low.response().status()).isEqualTo(200);
            assertThat(plain.response().status()).isEqualTo(200);
            assertThat(high.status().getCode()).isEqualTo(Status.Code.OK);
            assertThat(order).containsExactly("first", "high", "plain", "low");
        }
    }

    @Test
    void aClientThatDisconnects_leavesTheQueue() throws Exception {
        try (FakeGrpcServer server = server();
                Stage stage = stage(server);
                Http1Client first = stage.http1();
                Http1Client last = stage.http1()) {
            first.post(PATH, Infer.json("first", 1));
            Runnable firstAnswer = FakeGrpcServer.next(answers);
            try (Http1Client gone = stage.http1()) {
                gone.post(PATH, Infer.json("gone", 1));
                awaitWaiting(stage, 1);
            }
            awaitWaiting(stage, 0);
            last.post(PATH, Infer.json("last", 1));
            awaitWaiting(stage, 1);

            firstAnswer.run();
            answer();

            assertThat(last.response().status()).isEqualTo(200);
            assertThat(order).containsExactly("first", "last");
        }
    }
}
