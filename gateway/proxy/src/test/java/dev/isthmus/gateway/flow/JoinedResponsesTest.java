package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.settings.BatchingConfig;
import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.proto.ModelInferRequest;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Responses to joined calls, between real clients and servers. */
class JoinedResponsesTest {
    private static final long SEED = 20_261_127;
    private static final String HELD = "held";

    private final List<AutoCloseable> open = new ArrayList<>();
    private final BlockingQueue<ServerCall<byte[], byte[]>> held = new LinkedBlockingQueue<>();

    @AfterEach
    void stop() throws Exception {
        for (AutoCloseable one : open.reversed()) {
            one.close();
        }
    }

    private <T extends AutoCloseable> T opened(T one) {
        open.add(one);
        return one;
    }

    private UpstreamConfig echo(ServerDialect dialect) throws Exception {
        FakeGrpcServer server = CachedStage.server((message, call) -> {
            ModelInferRequest request = Infer.request(message);
            if (request.getId().equals(HELD)) {
                held.add(call);
            } else {
                FakeGrpcServer.respond(call, CachedStage.response(request).toByteArray());
            }
        });
        return Stage.grpc(opened(server), dialect);
    }

    /** Requests are joined as soon as there are two of them. */
    private Stage joining(UpstreamConfig server) throws Exception {
        ModelConfig model = TestConfigs.with(
                ModelConfig.of("server"), Map.of("batching", new BatchingConfig(2, 10_000_000, 1 << 20)));
        return opened(Stage.with(Stage.config(
                Map.of("server", server),
                Map.of("m", model),
                DefaultValues.of(GatewayConfig.HealthConfig.class),
                null,
                false)));
    }

    private static double joinedCalls(Stage stage) {
        return stage.proxy().meters().get("isthmus.batching.calls").counter().count();
    }

    @ParameterizedTest
    @EnumSource
    void responses_areThoseOfSingleCalls_inAllForms(ServerKind kind) throws Exception {
        UpstreamConfig server = kind.start(this::echo, open);
        Stage plain = opened(new Stage(Map.of("server", server), Map.of("m", "server"), null));
        Random random = new Random(SEED);
        for (int i = 0; i < 4; i++) {
            // After some calls and some time a gateway measures whether the server is faster without joined ones.
            Stage joining = joining(server);
            whileOneIsHeld(joining, () -> compare(joining, plain, random));
            assertThat(joinedCalls(joining)).isEqualTo(5.0 * ClientForm.values().length);
        }
    }

    /** What comes while a request is under way waits for others. */
    private void whileOneIsHeld(Stage joining, Callable<Void> action) throws Exception {
        byte[] message = Infer.request("m", HELD, 1).toByteArray();
        GrpcClient first = GrpcClient.ask(joining.channel(), "ModelInfer", new Metadata(), message);
        ServerCall<byte[], byte[]> heldCall =
                Objects.requireNonNull(held.poll(30, TimeUnit.SECONDS), "no inference at the server");
        action.call();
        FakeGrpcServer.respond(
                heldCall, CachedStage.response(Infer.request("m", HELD, 1)).toByteArray());
        assertThat(first.status()).isEqualTo(Status.OK);
    }

    private Void compare(Stage joining, Stage plain, Random random) throws Exception {
        try (ExecutorService clients = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < 5; i++) {
                RandomTensors one = RandomTensors.of(random);
                RandomTensors two = one.others(random);
                for (ClientForm form : ClientForm.values()) {
                    Future<Object> other = clients.submit(() -> form.response(joining, two, "two"));
                    Object response = form.response(joining, one, "one");
                    assertThat(List.of(response, other.get(30, TimeUnit.SECONDS)))
                            .as("seed %s, request %s as %s", SEED, i, form)
                            .isEqualTo(List.of(form.response(plain, one, "one"), form.response(plain, two, "two")));
                }
            }
        }
        return null;
    }
}
