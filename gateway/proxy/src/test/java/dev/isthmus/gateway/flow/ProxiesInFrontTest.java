package dev.isthmus.gateway.flow;

import static dev.isthmus.gateway.upstream.FakeRestServer.ok;
import static dev.isthmus.gateway.upstream.FakeRestServer.write;
import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.settings.AddressRange;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.HeaderAllowList;
import dev.isthmus.gateway.settings.Listener;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.upstream.FakeRestServer;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** Proxies in front of a gateway, as configured. */
class ProxiesInFrontTest {
    private static final String PATH = "/v2/models/m/infer";
    private static final AddressRange LOOPBACK = Objects.requireNonNull(AddressRange.parse("127.0.0.0/8"));

    private static void apply(Stage stage, GatewayConfig config) throws Exception {
        stage.proxy().reload(config);
    }

    private static GatewayConfig behind(Stage stage, List<AddressRange> proxies, boolean proxyProtocol) {
        GatewayConfig config = stage.proxy().config();
        Listener now = config.listeners().get(0);
        return config.withListener(
                TestConfigs.with(now, Map.of("trustedProxies", proxies, "proxyProtocol", proxyProtocol)));
    }

    private static String headOf(FakeRestServer server, Http1Client client, String... headers) throws Exception {
        client.post(PATH, Infer.json("a", 1), headers);
        assertThat(client.response().status()).isEqualTo(200);
        return Stage.posted(server).head().toLowerCase(Locale.ROOT);
    }

    private static FakeRestServer server() throws Exception {
        return FakeRestServer.that((request, out) -> {
            write(out, ok(Infer.responseJson("m", "a", 1)));
            return true;
        });
    }

    @Test
    void reload_changesTheProxiesOfAListener_forNewConnections() throws Exception {
        try (FakeRestServer server = server();
                Stage stage = Stage.of(Stage.rest(server, ServerDialect.MLSERVER));
                Http1Client first = stage.http1()) {
            int port = stage.port();
            assertThat(headOf(server, first, "X-Forwarded-For: 192.0.2.1")).doesNotContain("x-forwarded-for");
            GatewayConfig.Headers headers = TestConfigs.with(
                    stage.proxy().config().headers(),
                    Map.of("forwarded", HeaderAllowList.of(List.of("x-forwarded-for"))));
            apply(stage, TestConfigs.with(stage.proxy().config(), Map.of("headers", headers)));
            assertThat(headOf(server, first, "X-Forwarded-For: 192.0.2.1")).contains("x-forwarded-for: 127.0.0.1\r\n");
            apply(stage, behind(stage, List.of(LOOPBACK), false));
            assertThat(stage.port()).isEqualTo(port);
            try (Http1Client second = stage.http1()) {
                assertThat(headOf(server, second, "X-Forwarded-For: 192.0.2.1"))
                        .contains("x-forwarded-for: 192.0.2.1, 127.0.0.1\r\n");
            }
            apply(stage, behind(stage, List.of(LOOPBACK), true));
            try (Http1Client third = stage.http1()) {
                third.send("PROXY TCP4 198.51.100.7 10.0.0.1 5555 80\r\n");
                // The peer is now the one that the PROXY protocol names, which is no proxy.
                assertThat(headOf(server, third, "X-Forwarded-For: 192.0.2.1"))
                        .contains("x-forwarded-for: 198.51.100.7\r\n");
            }
        }
    }
}
