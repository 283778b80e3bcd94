package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import io.grpc.Metadata;
import io.grpc.Status;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What clients see of an upstream that rejects calls for a while. */
class RetryAfterTest {
    private static final Metadata.Key<String> RETRY_AFTER =
            Metadata.Key.of("retry-after", Metadata.ASCII_STRING_MARSHALLER);
    private static final String REFUSAL = "upstream 'server' rejects calls for ";

    private static UpstreamConfig breakingAtOnce(FakeGrpcServer server) {
        UpstreamConfig base = Stage.grpc(server, ServerDialect.GENERIC);
        var breaker = new UpstreamConfig.Breaker(0.5, 1, 1, Duration.ofHours(1));
        return TestConfigs.with(base, Map.of("breaker", breaker));
    }

    private static FakeGrpcServer unavailable() throws Exception {
        return new FakeGrpcServer(
                (call, message) -> call.close(Status.UNAVAILABLE.withDescription("down"), new Metadata()));
    }

    @Test
    void refusal_hasAHeader() throws Exception {
        try (FakeGrpcServer server = unavailable();
                Stage stage = Stage.of(breakingAtOnce(server));
                Http1Client client = stage.http1()) {
            Http1Client.Response first =
                    client.post("/v2/models/m/infer", Infer.json("a", 1)).response();
            assertThat(first.status()).isEqualTo(503);
            assertThat(first.head().headers()).doesNotContainKey("retry-after");
            Http1Client.Response refused =
                    client.post("/v2/models/m/infer", Infer.json("a", 1)).response();
            assertThat(refused.status()).isEqualTo(503);
            assertThat(refused.text()).contains(REFUSAL);
            assertThat(Integer.parseInt(refused.header("retry-after"))).isBetween(3000, 3600);
        }
    }

    @Test
    void refusal_hasMetadata() throws Exception {
        try (FakeGrpcServer server = unavailable();
                Stage stage = Stage.of(breakingAtOnce(server))) {
            byte[] request = Infer.request("m", "a", 1).toByteArray();
            GrpcClient.ask(stage.channel(), "ModelInfer", new Metadata(), request)
                    .status();
            GrpcClient refused = GrpcClient.ask(stage.channel(), "ModelInfer", new Metadata(), request);
            assertThat(refused.status().getCode()).isEqualTo(Status.Code.UNAVAILABLE);
            assertThat(refused.status().getDescription()).startsWith(REFUSAL);
            assertThat(refused.trailers().get(RETRY_AFTER)).matches("3[0-9]{3}");
        }
    }
}
