package dev.isthmus.gateway.config;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.config.GatewayConfig.Limits;
import dev.isthmus.gateway.config.GatewayConfig.Protocol;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.Test;

class ConfigDocumentTest {
    private static final UpstreamConfig TRITON = UpstreamConfig.of(Protocol.GRPC, new Endpoint("127.0.0.1", 8001));

    private static GatewayConfig config(UpstreamConfig triton) {
        return GatewayConfig.embedded()
                .withUpstreams(Map.of("triton", triton))
                .withModels(Map.of("resnet", ModelConfig.of("triton")));
    }

    @Test
    void document_hasTheKeysAndValuesOfTheFile() {
        Map<String, Object> document = ConfigDocument.of(config(TRITON));
        assertThat(document).containsEntry("default_upstream", "local").doesNotContainKey("admin");
        assertThat(document.get("limits"))
                .isEqualTo(Map.of("max_body_size", 64 << 20, "max_concurrent_streams", 100, "max_requests", 10_000));
        assertThat(document.get("upstreams"))
                .asInstanceOf(InstanceOfAssertFactories.MAP)
                .extractingByKey("triton")
                .asInstanceOf(InstanceOfAssertFactories.MAP)
                .containsEntry("protocol", "grpc")
                .containsEntry("endpoints", List.of("127.0.0.1:8001"))
                .containsEntry("connect_timeout", "1s");
        assertThat(document.get("headers"))
                .asInstanceOf(InstanceOfAssertFactories.MAP)
                .containsOnlyKeys("forward", "return");
    }

    @Test
    void changes_nameTheKeys() {
        UpstreamConfig slower = TRITON.within(Duration.ofSeconds(1), Duration.ofMillis(1500), null);
        GatewayConfig after = config(slower)
                .withModels(Map.of("bert", ModelConfig.of("triton")))
                .withLimits(new Limits(64 << 20, 7, 10_000));
        assertThat(ConfigDocument.changes(config(TRITON), after, 10))
                .containsExactly(
                        "limits.max_concurrent_streams: 100 -> 7",
                        "models.bert: added",
                        "models.resnet: removed",
                        "upstreams.triton.timeout: 60s -> 1500ms");
    }

    @Test
    void changes_aboveTheMost_areCounted() {
        GatewayConfig after =
                config(TRITON).withModels(Map.of("a", ModelConfig.of("local"), "b", ModelConfig.of("local")));
        assertThat(ConfigDocument.changes(config(TRITON), after, 1)).containsExactly("models.a: added", "and 2 more");
    }

    @Test
    void changes_ofTheSame_areNone() {
        assertThat(ConfigDocument.changes(config(TRITON), config(TRITON), 10)).isEmpty();
    }
}
