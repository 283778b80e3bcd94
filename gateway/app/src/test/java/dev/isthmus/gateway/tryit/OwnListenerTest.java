package dev.isthmus.gateway.tryit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.settings.Listener;
import dev.isthmus.gateway.settings.TestAuthority;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.oip.OipException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class OwnListenerTest {
    private static final Listener PLAIN = Listener.DEFAULT.at("127.0.0.1", 1);
    private static final InetSocketAddress LOCAL = new InetSocketAddress(InetAddress.getLoopbackAddress(), 1);
    private static final InetSocketAddress ANY = new InetSocketAddress("0.0.0.0", 2);

    @Test
    void listenerBehindAProxy_isNotUsed() {
        Listener behind = TestConfigs.with(PLAIN, Map.of("proxyProtocol", true));
        assertThat(OwnListener.first(List.of(behind, PLAIN), List.of(ANY, LOCAL))
                        .address())
                .isEqualTo(LOCAL);
        assertThatThrownBy(() -> OwnListener.first(List.of(behind), List.of(ANY)))
                .isInstanceOf(OipException.class)
                .hasMessage(
                        "no listener takes connections without the PROXY protocol and without a client certificate");
    }

    @Test
    void anyAddress_isReachedOverLoopback_andByTheNameOfThePage() {
        OwnListener listener = OwnListener.first(List.of(PLAIN), List.of(ANY));
        assertThat(listener.loopback()).isEqualTo(URI.create("http://127.0.0.1:2"));
        assertThat(listener.from("gateway.example")).isEqualTo(URI.create("http://gateway.example:2"));
        assertThat(listener.from("[::1]")).isEqualTo(URI.create("http://[::1]:2"));
        for (String bad : List.of("", "a b", "a/b", "a'b", "a:b@c")) {
            assertThat(listener.from(bad)).isEqualTo(listener.loopback());
        }
        assertThat(OwnListener.first(List.of(PLAIN), List.of(LOCAL)).from("gateway.example"))
                .isEqualTo(URI.create("http://127.0.0.1:1"));
    }

    /** The certificate has a name that is not that of the address; it is trusted because it is the gateway's own. */
    @Test
    void onlyTls_isCalledWithTheCertificateOfTheListener(@TempDir Path folder) throws Exception {
        TestAuthority.Issued issued = new TestAuthority(folder, "authority").issue("server", "gateway.example");
        Path token = Files.writeString(folder.resolve("token"), "secret");
        Files.setPosixFilePermissions(token, PosixFilePermissions.fromString("rw-------"));
        try (Gateway gateway = Gateway.start(
                        ConfigLoader.parse("test.yaml", """
                        listeners: [{port: 0, tls: {certificates: [{certificate: "%s", key: "%s"}]}}]
                        admin: {port: 0, token_file: token}
                        local: {embedded_models: true}
                        default_upstream: local
                        health: {warm_up: 0s}
                        """.formatted(issued.certificate(), issued.key()), folder));
                HttpClient http = HttpClient.newHttpClient()) {
            for (String form : List.of("json", "binary", "grpc")) {
                String input = "{\"name\": \"INPUT%d\", \"datatype\": \"INT32\", \"shape\": [1, 16]}";
                HttpResponse<String> response = http.send(
                        HttpRequest.newBuilder(URI.create("http://127.0.0.1:"
                                        + gateway.adminAddress().orElseThrow().getPort() + "/console/try"))
                                .header("authorization", "Bearer secret")
                                .POST(HttpRequest.BodyPublishers.ofString("{\"model\": \"simple\", \"form\": \"" + form
                                        + "\", \"inputs\": [" + input.formatted(0) + "," + input.formatted(1) + "]}"))
                                .build(),
                        HttpResponse.BodyHandlers.ofString());
                assertThat(response.body())
                        .contains("\"status\" : 200", "OUTPUT0", "\"listener\" : \"https://127.0.0.1:");
            }
        }
    }
}
