package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.reload.ConfigFile;
import dev.isthmus.gateway.reload.ReloadResult;
import dev.isthmus.gateway.settings.ConfigDiff;
import dev.isthmus.gateway.settings.ConfigException;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.WatchedFiles;
import dev.isthmus.gateway.upstream.FakeRestServer;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a comparison of two configurations says of a reload is what a reload does. */
@Timeout(120)
class ReloadEffectsFlowTest {
    private static final String LOCAL = "local: {embedded_models: true}\ndefault_upstream: local\n";

    private int port;
    private int other;

    @BeforeEach
    void choosePorts() throws IOException {
        port = TestConfigs.unusedEndpoint().port();
        other = TestConfigs.unusedEndpoint().port();
    }

    private static GatewayConfig config(String text) throws ConfigException {
        return ConfigLoader.parse("f.yaml", text, Path.of("."));
    }

    private static List<String> effects(GatewayConfig before, GatewayConfig after) {
        return ConfigDiff.of(before, after).effects();
    }

    private static Http1Client connect(int port) throws IOException {
        return new Http1Client(new Socket(InetAddress.getLoopbackAddress(), port));
    }

    private static void expectLive(Http1Client client) throws Exception {
        assertThat(client.get("/v2/health/live").response().status()).isEqualTo(200);
    }

    @Test
    void listener_thatMoves_bindsTheNewPort_andItsConnectionsGoOn() throws Exception {
        GatewayConfig before = config(LOCAL + "listeners: [{port: " + port + "}]");
        GatewayConfig after = config(LOCAL + "listeners: [{port: " + other + "}]");
        assertThat(effects(before, after))
                .containsExactly(
                        "listener 127.0.0.1:" + port + ": accepts no more connections; open ones go on",
                        "listener 127.0.0.1:" + other + ": binds port " + other);
        try (Gateway gateway = Gateway.start(before);
                Http1Client client = connect(port)) {
            expectLive(client);
            assertThat(gateway.reload(after)).isInstanceOf(ReloadResult.Applied.class);
            expectLive(client);
            assertThatThrownBy(() -> connect(port)).isInstanceOf(ConnectException.class);
            try (Http1Client fresh = connect(other)) {
                expectLive(fresh);
            }
        }
    }

    @Test
    void listener_withOtherSettings_staysBound_andTheyHoldForNewConnections() throws Exception {
        GatewayConfig before = config(LOCAL + "listeners: [{port: " + port + "}]");
        GatewayConfig after =
                config(LOCAL + "listeners: [{port: " + port + ", proxy_protocol: true, trusted_proxies: [127.0.0.1]}]");
        assertThat(effects(before, after))
                .containsExactly(
                        "listener 127.0.0.1:" + port + ": stays bound; its other settings hold for new connections");
        try (Gateway gateway = Gateway.start(before);
                Http1Client client = connect(port)) {
            expectLive(client);
            assertThat(gateway.reload(after)).isInstanceOf(ReloadResult.Applied.class);
            assertThat(gateway.addresses()).hasSize(1);
            assertThat(gateway.addresses().getFirst().getPort()).isEqualTo(port);
            expectLive(client);
            try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port);
                    Http1Client fresh = new Http1Client(socket)) {
                socket.getOutputStream()
                        .write("PROXY TCP4 10.0.0.1 10.0.0.2 1 2\r\n".getBytes(StandardCharsets.US_ASCII));
                expectLive(fresh);
            }
        }
    }

    @Test
    void listener_thatOverlaps_isRejected() throws Exception {
        GatewayConfig before = config(LOCAL + "listeners: [{port: " + port + "}]");
        GatewayConfig after = config(LOCAL + "listeners: [{host: 0.0.0.0, access: open, port: " + port + "}]");
        assertThat(effects(before, after))
                .contains("listener 0.0.0.0:" + port + ": needs a restart; the reload is rejected, as 127.0.0.1:" + port
                        + " has the port");
        try (Gateway gateway = Gateway.start(before);
                Http1Client client = connect(port)) {
            assertThat(gateway.reload(after)).isInstanceOf(ReloadResult.Rejected.class);
            expectLive(client);
        }
        try (Gateway gateway = Gateway.start(after)) {
            assertThat(gateway.addresses()).hasSize(1);
        }
    }

    @Test
    void upstream_withOtherSettings_closesItsConnections() throws Exception {
        FakeRestServer.Script script = (request, out) -> {
            FakeRestServer.write(out, FakeRestServer.ok(Infer.responseJson("m", "a", 1)));
            return true;
        };
        try (FakeRestServer server = FakeRestServer.that(script)) {
            String text =
                    "listeners: [{port: 0}]\nmodels: {m: {upstream: u}}\nupstreams:\n  u: {protocol: rest, endpoints: ['"
                            + server.endpoint().authority() + "'], dialect: mlserver}\n";
            GatewayConfig before = config(text);
            GatewayConfig after = config(text + "limits: {max_body_size: 1MiB}\n");
            assertThat(effects(before, after))
                    .singleElement()
                    .asString()
                    .startsWith("upstream 'u': its connections close after its last call; ");
            try (Gateway gateway = Gateway.start(before);
                    Http1Client client = connect(gateway.addresses().getFirst().getPort())) {
                client.post("/v2/models/m/infer", Infer.json("a", 5));
                assertThat(client.response().status()).isEqualTo(200);
                assertThat(gateway.reload(after)).isInstanceOf(ReloadResult.Applied.class);
                server.awaitConnectionClosed();
            }
        }
    }

    @Test
    void sectionsOfTheStart_areOnlyWarnedOf() throws Exception {
        GatewayConfig before = config(LOCAL + "listeners: [{port: 0}]");
        GatewayConfig after = config(LOCAL + "listeners: [{port: 0}]\nadmin: {port: 0}\nramps: {state_file: ramps}\n");
        ConfigDiff diff = ConfigDiff.of(before, after);
        assertThat(diff.changes()).isEmpty();
        assertThat(diff.needRestart()).hasSize(2);
        try (Gateway gateway = Gateway.start(before)) {
            assertThat(gateway.reload(after))
                    .isInstanceOfSatisfying(
                            ReloadResult.Applied.class,
                            applied -> assertThat(applied.warnings())
                                    .containsExactly(
                                            "admin: the change takes effect after a restart",
                                            "ramps: the change takes effect after a restart"));
            assertThat(gateway.adminAddress()).isEmpty();
        }
    }

    @Test
    void valueOfAFile_isReadAgain_andNotShown(@TempDir Path folder) throws Exception {
        Path value = Files.writeString(folder.resolve("most"), "1234\n");
        Path file = Files.writeString(
                folder.resolve("isthmus.yaml"),
                LOCAL + "listeners: [{port: 0}]\nlimits: {max_requests: '${file:most}'}\n");
        ConfigFile source = new ConfigFile(List.of(file), config -> config);
        try (Gateway gateway = Gateway.start(source)) {
            assertThat(gateway.config().limits().maxRequests()).isEqualTo(1234);
            Files.writeString(value, "5678\n");
            assertThat(source.check()).isEqualTo(WatchedFiles.FileChange.UNSETTLED);
            assertThat(gateway.reload())
                    .isInstanceOfSatisfying(
                            ReloadResult.Applied.class,
                            applied -> assertThat(applied.changes())
                                    .containsExactly("limits: max_requests: ${file:most}: another value"));
            assertThat(gateway.config().limits().maxRequests()).isEqualTo(5678);
            // The name of the folder is a number.
            assertThat(gateway.config().document().toString().replace(folder.toString(), ""))
                    .contains("max_requests=${file:most}")
                    .doesNotContain("5678");
        }
    }
}
