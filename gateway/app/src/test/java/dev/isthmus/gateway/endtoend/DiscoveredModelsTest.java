package dev.isthmus.gateway.endtoend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.settings.GatewayConfig;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** Models that are only known from the repository index of a server. */
class DiscoveredModelsTest {
    private static final int CALLS = 300;

    private static GatewayConfig config(Gateway server, int limit) throws Exception {
        return ConfigLoader.parse("isthmus.yaml", """
                listeners: [{host: "127.0.0.1", port: 0}]
                upstreams: {fleet: {protocol: grpc, endpoints: ["%s"], discover: true}}
                limits: {max_requests: %d}
                """.formatted(TestGateways.address(server), limit), Path.of("."));
    }

    @Test
    void reload_keepsThem() throws Exception {
        try (Gateway server = TestGateways.start("""
                        listeners: [{host: "127.0.0.1", port: 0}]
                        local: {embedded_models: true}
                        default_upstream: local
                        """);
                Gateway gateway = Gateway.start(config(server, 1000))) {
            await().atMost(Duration.ofSeconds(60))
                    .until(() -> gateway.catalogue().discovered().containsKey("simple"));
            try (SteadyCalls calls =
                    new SteadyCalls(gateway.addresses().getFirst().getPort())) {
                for (int i = 1; i <= 10; i++) {
                    calls.awaitMore(CALLS);
                    gateway.reload(config(server, 1000 + i));
                }
                calls.awaitMore(CALLS);
                calls.stop();
                assertThat(calls.failures).isEmpty();
            }
        }
    }
}
