package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.GatewayConfig.BinaryTensorData;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import dev.isthmus.gateway.upstream.FakeRestServer;
import org.junit.jupiter.api.Test;

/** Servers configured by host name. */
class NamedServerTest {

    @Test
    void firstCall_findsTheServerAndNamesIt() throws Exception {
        String response = FakeRestServer.ok(Infer.responseJson("m", "", 5));
        try (FakeRestServer server = FakeRestServer.sending(response)) {
            Endpoint named = new Endpoint("localhost", server.endpoint().port());
            try (Stage stage = Stage.of(Stage.upstream(
                            UpstreamProtocol.REST, named, ServerDialect.GENERIC, BinaryTensorData.FALSE, false));
                    Http1Client client = stage.http1()) {
                client.post("/v2/models/m/infer", Infer.json("7", 5));

                assertThat(client.response().status()).isEqualTo(200);
                assertThat(Stage.posted(server).head()).containsIgnoringCase("\r\nhost: " + named.authority() + "\r\n");
            }
        }
    }
}
