package dev.isthmus.gateway.tls;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.settings.TestAuthority;
import dev.isthmus.gateway.settings.TestAuthority.Issued;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The admin address over TLS. */
@Timeout(60)
class AdminTlsTest {
    private static final String METRICS = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";

    @TempDir
    Path folder = Path.of("");

    private Gateway gateway(String tls) throws Exception {
        return Gateway.start(TlsStage.config(folder, """
                default_upstream: local
                local: {embedded_models: true}
                listeners: [{port: 0}]
                admin: {port: 0, tls: {certificates: [{certificate: ca-server.pem, key: ca-server.key}]%s}}
                """.formatted(tls)));
    }

    private static int port(Gateway gateway) {
        return gateway.adminAddress().orElseThrow().getPort();
    }

    @Test
    void metrics_areShownOverTls() throws Exception {
        TestAuthority authority = new TestAuthority(folder, "ca");
        Issued issued = authority.issue("server", "localhost");
        SSLContext client = TlsStage.trusting(authority, null);
        try (Gateway gateway = gateway("")) {
            try (SSLSocket socket = TlsStage.connect(client, port(gateway), "localhost", "h2", "http/1.1")) {
                assertThat(TlsStage.ask(socket, METRICS)).startsWith("HTTP/1.1 200 OK");
                assertThat(socket.getApplicationProtocol()).isEqualTo("http/1.1");
                assertThat(socket.getSession().getPeerCertificates()).containsExactly(issued.x509());
            }
            Issued next = authority.issue("server", "localhost");
            gateway.reload();
            assertThat(TlsStage.shown(TlsStage.trusting(authority, null), port(gateway), "localhost"))
                    .isEqualTo(next.x509());
        }
    }

    @Test
    void clientsCertificate_canBeRequired() throws Exception {
        TestAuthority authority = new TestAuthority(folder, "ca");
        authority.issue("server", "localhost");
        Issued operator = authority.issue("operator");
        try (Gateway gateway = gateway(", client_certificates: {mode: required, ca: ca-ca.pem}");
                SSLSocket with = TlsStage.connect(TlsStage.trusting(authority, operator), port(gateway), "localhost")) {
            assertThat(TlsStage.ask(with, METRICS)).startsWith("HTTP/1.1 200 OK");
            try (SSLSocket without = TlsStage.connect(TlsStage.trusting(authority, null), port(gateway), "localhost")) {
                assertThat(TlsStage.ask(without, METRICS)).doesNotStartWith("HTTP");
            } catch (IOException refused) {
                assertThat(refused).isInstanceOf(SSLException.class);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"", METRICS})
    void plainTextAndSilence_areClosed(String text) throws Exception {
        new TestAuthority(folder, "ca").issue("server", "localhost");
        try (Gateway gateway = gateway(", handshake_timeout: 500ms");
                Socket socket = new Socket(InetAddress.getLoopbackAddress(), port(gateway))) {
            socket.setSoTimeout(20_000);
            socket.getOutputStream().write(text.getBytes(StandardCharsets.US_ASCII));
            assertThat(new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1))
                    .doesNotContain("HTTP");
        }
    }
}
