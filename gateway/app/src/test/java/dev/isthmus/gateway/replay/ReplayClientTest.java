package dev.isthmus.gateway.replay;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.gateway.replay.ReplayClient.ServerConnection;
import dev.isthmus.gateway.settings.GatewayConfig.BinaryTensorData;
import java.net.URI;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ReplayClientTest {
    /** Otherwise a command would count the exchange neither as answered nor as failed, and exit with 0. */
    @Test
    void faultOfAnExchange_isThrownWhenAllHaveEnded() throws Exception {
        ServerConnection nowhere =
                new ServerConnection(URI.create("http://127.0.0.1:1"), null, false, BinaryTensorData.AUTO, Map.of(), 2);
        try (ReplayClient client = new ReplayClient(nowhere, null)) {
            client.start(() -> {
                throw new AssertionError("a fault");
            });
            client.start(() -> {});
            assertThatThrownBy(client::await).hasMessageContaining("a fault");
        }
    }
}
