package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.settings.GatewayConfig.HealthConfig;
import dev.isthmus.gateway.settings.GatewayConfig.ServerReadyPolicy;
import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.ModelConfig.ReadyPolicy;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.settings.UpstreamConfig.Checks;
import dev.isthmus.gateway.upstream.FakeV2Server;
import dev.isthmus.proto.ModelReadyRequest;
import dev.isthmus.proto.ModelReadyResponse;
import dev.isthmus.proto.ServerReadyResponse;
import io.grpc.Metadata;
import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The only server of a model stops and returns. */
class LostServerFlowTest {
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    /** How a model is routed to its upstream. */
    enum Configured {
        BY_NAME,
        BY_PATTERN,
        BY_DEFAULT,
        DISCOVERED
    }

    private static Stage gateway(Configured how, FakeV2Server server) throws Exception {
        UpstreamConfig config = TestConfigs.with(
                TestConfigs.upstream(server.protocol(), server.endpoint()),
                Map.of(
                        "checks",
                        new Checks(Duration.ofMillis(50), Duration.ofSeconds(5), 2, 1),
                        "discover",
                        how == Configured.DISCOVERED));
        Map<String, ModelConfig> models = switch (how) {
            case BY_NAME -> Map.of("model", ModelConfig.of("u"));
            case BY_PATTERN -> Map.of("mod*", ModelConfig.of("u"));
            case BY_DEFAULT, DISCOVERED -> Map.of();
        };
        @Nullable String fallback = how == Configured.BY_DEFAULT ? "u" : null;
        HealthConfig health =
                new HealthConfig(ServerReadyPolicy.MODELS, ReadyPolicy.ANY, Duration.ZERO, Duration.ZERO, 1000);
        return FleetStage.fleet(Map.of("u", config), models, health, fallback);
    }

    private static int status(Stage stage, String path) throws Exception {
        try (Http1Client client = stage.http1()) {
            return client.get(path).response().status();
        }
    }

    private static void awaitReady(Stage stage, Configured how, boolean ready) {
        await().atMost(PATIENCE).untilAsserted(() -> {
            byte[] request =
                    ModelReadyRequest.newBuilder().setName("model").build().toByteArray();
            int expected = ready ? 200 : 400;
            assertThat(status(stage, "/v2/models/model/ready")).isEqualTo(expected);
            assertThat(status(stage, "/v2/models/model/versions/1/ready")).isEqualTo(expected);
            GrpcClient model = GrpcClient.ask(stage.channel(), "ModelReady", new Metadata(), request);
            assertThat(ModelReadyResponse.parseFrom(model.response()).getReady())
                    .isEqualTo(ready);
            assertThat(status(stage, "/v2/health/ready")).isEqualTo(expected);
            GrpcClient server = GrpcClient.ask(stage.channel(), "ServerReady", new Metadata(), new byte[0]);
            assertThat(ServerReadyResponse.parseFrom(server.response()).getReady())
                    .isEqualTo(ready);
            if (how == Configured.BY_NAME) {
                assertThat(stage.proxy()
                                .meters()
                                .get("isthmus.model.ready")
                                .tag("model", "model")
                                .gauge()
                                .value())
                        .isEqualTo(ready ? 1 : 0);
            }
        });
    }

    @ParameterizedTest
    @CsvSource({
        "BY_NAME, GRPC", "BY_PATTERN, GRPC", "BY_DEFAULT, GRPC", "DISCOVERED, GRPC",
        "BY_NAME, REST", "BY_PATTERN, REST", "BY_DEFAULT, REST", "DISCOVERED, REST"
    })
    void onlyServerGoes_modelIsNotReady_untilItIsBack(Configured how, UpstreamProtocol protocol) throws Exception {
        FakeV2Server first =
                FakeV2Server.on(protocol, TestConfigs.unusedEndpoint().port()).with("model", "FP32");
        try (Stage stage = gateway(how, first)) {
            awaitReady(stage, how, true);
            first.close();
            awaitReady(stage, how, false);
            try (FakeV2Server second =
                    FakeV2Server.on(protocol, first.endpoint().port()).with("model", "FP32")) {
                assertThat(second.protocol()).isEqualTo(protocol);
                awaitReady(stage, how, true);
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"BY_NAME", "BY_PATTERN", "BY_DEFAULT"})
    void serverWasNeverThere_modelIsNotReady(Configured how) throws Exception {
        FakeV2Server gone = FakeV2Server.on(
                UpstreamProtocol.GRPC, TestConfigs.unusedEndpoint().port());
        gone.close();
        try (Stage stage = gateway(how, gone)) {
            awaitReady(stage, how, false);
        }
    }
}
