package dev.isthmus.gateway;

import static org.assertj.core.api.Assertions.assertThatCode;

import dev.isthmus.gateway.config.GatewayConfig;
import dev.isthmus.gateway.config.GatewayConfig.Listener;
import org.junit.jupiter.api.Test;

class GatewayCloseTest {

    @Test
    void close_again_doesNothing() throws Exception {
        Gateway gateway = Gateway.start(GatewayConfig.embedded().withListener(new Listener("127.0.0.1", 0)));
        gateway.close();
        assertThatCode(gateway::close).doesNotThrowAnyException();
    }
}
