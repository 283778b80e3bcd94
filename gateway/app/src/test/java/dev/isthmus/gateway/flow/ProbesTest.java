package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.http2.Http2Client;
import dev.isthmus.gateway.settings.AdminConfig;
import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import dev.isthmus.gateway.settings.Listener;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.upstream.FakeV2Server;
import java.net.InetAddress;
import java.net.Socket;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** Probes report on the gateway itself; V2 clients see the servers behind it. */
class ProbesTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private static GatewayConfig inFrontOf(Map<String, Endpoint> servers) {
        Map<String, UpstreamConfig> upstreams = new HashMap<>();
        servers.forEach((name, endpoint) -> upstreams.put(name, TestConfigs.upstream(UpstreamProtocol.GRPC, endpoint)));
        return TestConfigs.with(
                GatewayConfig.DEFAULT,
                Map.of(
                        "listeners",
                        List.of(Listener.DEFAULT.at("127.0.0.1", 0)),
                        "admin",
                        DefaultValues.with(AdminConfig.DEFAULT, "port", 0),
                        "answers",
                        Stage.RESPONSES,
                        "upstreams",
                        upstreams));
    }

    private static Http1Client.Response get(int port, String path) throws Exception {
        try (Http1Client client = new Http1Client(new Socket(InetAddress.getLoopbackAddress(), port))) {
            return client.get(path).response();
        }
    }

    private static int port(Gateway gateway) {
        return gateway.addresses().getFirst().getPort();
    }

    private static int admin(Gateway gateway) {
        return gateway.adminAddress().orElseThrow().getPort();
    }

    private static JsonNode servers(Gateway gateway) throws Exception {
        return JSON.readTree(get(admin(gateway), "/servers").text());
    }

    private static void awaitCalled(Gateway gateway) {
        await().atMost(PATIENCE).until(() -> gateway.catalogue().settled());
    }

    @Test
    void noServerResponds_gatewayTakesTraffic_andV2ClientsAreToldNo() throws Exception {
        try (Gateway gateway = Gateway.start(
                inFrontOf(Map.of("a", TestConfigs.unusedEndpoint(), "b", TestConfigs.unusedEndpoint())))) {
            awaitCalled(gateway);
            for (String path : new String[] {"/livez", "/readyz"}) {
                assertThat(get(port(gateway), path).status()).as(path).isEqualTo(200);
            }
            assertThat(get(admin(gateway), "/ready").status()).isEqualTo(200);
            assertThat(get(admin(gateway), "/live").status()).isEqualTo(200);
            assertThat(get(port(gateway), "/v2/health/ready").status()).isEqualTo(400);
            assertThat(get(port(gateway), "/v2/health/ready").text())
                    .contains("the server is not ready: no upstream has a ready server: a, b");
            assertThat(servers(gateway).path("reason").asText()).isEqualTo("no upstream has a ready server: a, b");
            assertThat(servers(gateway).path("missing"))
                    .extracting(JsonNode::asText)
                    .containsExactly("a", "b");
        }
    }

    @Test
    void oneUpstreamOfTwoIsGone_defaultPolicyIsReady() throws Exception {
        try (FakeV2Server server = FakeV2Server.grpc();
                Gateway gateway = Gateway.start(
                        inFrontOf(Map.of("there", server.endpoint(), "gone", TestConfigs.unusedEndpoint())))) {
            awaitCalled(gateway);
            assertThat(get(port(gateway), "/v2/health/ready").status()).isEqualTo(200);
            assertThat(servers(gateway).path("ready").asBoolean()).isTrue();
        }
    }

    @Test
    void probes_overHttp2() throws Exception {
        try (Gateway gateway = Gateway.start(inFrontOf(Map.of("gone", TestConfigs.unusedEndpoint())));
                Http2Client client = new Http2Client(port(gateway))) {
            for (String path : new String[] {"/livez", "/readyz"}) {
                assertThat(client.get(path).head().status()).as(path).hasToString("200");
            }
        }
    }

    @Test
    void warmingUp_isReportedAsTheReason() throws Exception {
        AtomicBoolean warm = new AtomicBoolean();
        GatewayConfig config = inFrontOf(Map.of());
        try (Gateway gateway = Gateway.start(() -> config, warm::get)) {
            awaitCalled(gateway);
            String error = "the gateway is not ready: warming up";
            for (Http1Client.Response response :
                    new Http1Client.Response[] {get(port(gateway), "/readyz"), get(admin(gateway), "/ready")}) {
                assertThat(response.status()).isEqualTo(503);
                assertThat(JSON.readTree(response.text()).path("error").asText())
                        .isEqualTo(error);
            }
            assertThat(get(port(gateway), "/livez").status()).isEqualTo(200);
            assertThat(servers(gateway).path("reason").asText()).isEqualTo("warming up");
            assertThat(servers(gateway).path("missing")).isEmpty();
            warm.set(true);
            assertThat(get(port(gateway), "/readyz").status()).isEqualTo(200);
            assertThat(get(admin(gateway), "/ready").status()).isEqualTo(200);
        }
    }
}
