package dev.isthmus.gateway.tls;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.flow.ProxyServer;
import dev.isthmus.gateway.settings.Listener;
import dev.isthmus.gateway.settings.ListenerTls;
import dev.isthmus.gateway.settings.TestAuthority;
import dev.isthmus.gateway.settings.TestConfigs;
import io.grpc.ManagedChannel;
import io.netty.handler.ssl.OpenSsl;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.http.HttpClient;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLSocket;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Clients of a TLS listener. */
@Timeout(120)
class ListenerTlsTest {
    private static final String LIVE = "HTTP/1.1 200 OK";

    @TempDir
    Path folder = Path.of("");

    private TestAuthority authority;
    private ProxyServer gateway;
    private SSLContext client;

    @BeforeEach
    void start() throws Exception {
        authority = new TestAuthority(folder, "ca");
        authority.issue("one", "localhost", "127.0.0.1");
        authority.issue("two", "two.example", "*.wild.example");
        gateway = TlsStage.gateway(folder, """
                {port: 0, tls: {certificates: [
                  {certificate: ca-one.pem, key: ca-one.key}, {certificate: ca-two.pem, key: ca-two.key}]}}""");
        client = TlsStage.trusting(authority, null);
    }

    @AfterEach
    void stop() {
        gateway.close();
    }

    private int port() {
        return TlsStage.port(gateway);
    }

    private double handshakes(String result) {
        return TlsStage.count(gateway, "isthmus.tls.handshakes", "side", "client", "result", result);
    }

    private void hurry() throws Exception {
        Listener listener = gateway.config().listeners().getFirst();
        ListenerTls tls = TestConfigs.with(
                Objects.requireNonNull(listener.tls()), Map.of("handshakeTimeout", Duration.ofMillis(500)));
        gateway.reload(gateway.config().withListener(TestConfigs.with(listener, Map.of("tls", tls))));
    }

    @Test
    void boringSsl_isUsed() {
        assertThat(OpenSsl.isAvailable())
                .as("%s", OpenSsl.unavailabilityCause())
                .isTrue();
    }

    @ParameterizedTest
    @EnumSource(HttpClient.Version.class)
    void rest_isServedOverTheAgreedProtocol(HttpClient.Version version) throws Exception {
        if (version.name().equals("HTTP_3")) {
            return;
        }
        HttpResponse<String> response = TlsStage.infer(client, version, "localhost", port());
        assertThat(response.statusCode()).isEqualTo(200);
        assertThat(response.version()).isEqualTo(version);
        assertThat(response.body()).contains("\"OUTPUT0\"");
        assertThat(handshakes("ok")).isEqualTo(1);
    }

    @Test
    void grpc_isServed() throws Exception {
        ManagedChannel channel = TlsStage.grpc(port(), authority, "localhost", null);
        assertThat(TlsStage.infer(channel)).isEqualTo(2);
        TlsStage.close(channel);
    }

    @Test
    void clientWithoutAlpn_isServedByItsFirstBytes() throws Exception {
        try (SSLSocket socket = TlsStage.connect(client, port(), null)) {
            assertThat(TlsStage.live(socket)).startsWith(LIVE);
            assertThat(socket.getApplicationProtocol()).isEmpty();
        }
        try (SSLSocket socket = TlsStage.connect(client, port(), null)) {
            String settings = TlsStage.ask(socket, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0");
            assertThat(settings.charAt(3)).as("SETTINGS").isEqualTo('\4');
        }
    }

    @Test
    void clientThatAgreedOnHttp2_mustSpeakIt() throws Exception {
        try (SSLSocket socket = TlsStage.connect(client, port(), null, "h2", "http/1.1")) {
            String response = TlsStage.live(socket);
            assertThat(socket.getApplicationProtocol()).isEqualTo("h2");
            assertThat(response).doesNotStartWith("HTTP");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"TLSv1.3", "TLSv1.2"})
    void clientOfOtherProtocols_getsAnAlert(String version) throws Exception {
        try (SSLSocket socket = TlsStage.connect(client, port(), "localhost", "h3", "spdy/3")) {
            socket.setEnabledProtocols(new String[] {version});
            assertThatThrownBy(socket::startHandshake).hasMessageContaining("no_application_protocol");
        }
        try (SSLSocket socket = TlsStage.connect(client, port(), "localhost", "h3", "http/1.1")) {
            assertThat(TlsStage.live(socket)).startsWith(LIVE);
        }
    }

    @Test
    void certificate_isChosenByTheHostName() throws Exception {
        assertThat(subject(null)).isEqualTo("one");
        assertThat(subject("localhost")).isEqualTo("one");
        assertThat(subject("unknown.example")).isEqualTo("one");
        assertThat(subject("two.example")).isEqualTo("two");
        assertThat(subject("TWO.Example")).isEqualTo("two");
        assertThat(subject("a.wild.example")).isEqualTo("two");
        assertThat(subject("wild.example")).isEqualTo("one");
        assertThat(subject("a.b.wild.example")).isEqualTo("one");
    }

    private String subject(@Nullable String sni) throws Exception {
        String name = TlsStage.shown(TlsStage.trusting(authority, null), port(), sni)
                .getSubjectX500Principal()
                .getName();
        return name.replaceAll(".*CN=([a-z]+).*", "$1");
    }

    @ParameterizedTest
    @ValueSource(strings = {"TLSv1.3", "TLSv1.2"})
    void versions_areServed(String version) throws Exception {
        try (SSLSocket socket = TlsStage.connect(client, port(), null)) {
            socket.setEnabledProtocols(new String[] {version});
            assertThat(TlsStage.live(socket)).startsWith(LIVE);
            assertThat(socket.getSession().getProtocol()).isEqualTo(version);
            assertThat(socket.getSession().getCipherSuite()).containsPattern("GCM|POLY1305");
        }
    }

    @Test
    void sessions_areResumed() throws Exception {
        for (String version : new String[] {"TLSv1.2", "TLSv1.3"}) {
            SSLContext fresh = TlsStage.trusting(authority, null);
            long created = created(fresh, version);
            assertThat(created(fresh, version)).as(version).isEqualTo(created);
        }
    }

    /** When the session began: that of a resumed one is the first's. */
    private long created(SSLContext context, String version) throws IOException {
        try (SSLSocket socket = TlsStage.connect(context, port(), "localhost")) {
            socket.setEnabledProtocols(new String[] {version});
            assertThat(TlsStage.live(socket)).startsWith(LIVE);
            return socket.getSession().getCreationTime();
        }
    }

    /** A ClientHello of TLS 1.1, which the JDK and OpenSSL no longer send. */
    @Test
    void oldVersions_areRefused() throws Exception {
        byte[] hello = new byte[43 + 4];
        hello[0] = 1;
        hello[3] = (byte) (hello.length - 4);
        hello[4] = 3;
        hello[5] = 2;
        hello[39] = 0;
        hello[40] = 2;
        hello[41] = (byte) 0xc0;
        hello[42] = 0x13;
        hello[43] = 1;
        byte[] record = new byte[hello.length - 2 + 5];
        hello[3] = (byte) (hello.length - 2 - 4);
        record[0] = 22;
        record[1] = 3;
        record[2] = 1;
        record[4] = (byte) (hello.length - 2);
        System.arraycopy(hello, 0, record, 5, hello.length - 2);
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port())) {
            socket.getOutputStream().write(record);
            byte[] response = socket.getInputStream().readAllBytes();
            // A fatal alert: protocol_version.
            assertThat(response).startsWith(21).endsWith(2, 70);
        }
        await().until(() -> handshakes("failed") == 1);
    }

    @Test
    void minimumVersion_isEnforced() throws Exception {
        try (ProxyServer strict = TlsStage.gateway(
                folder,
                "{port: 0, tls: {certificates: [{certificate: ca-one.pem, key: ca-one.key}], minimum_version: 1.3}}")) {
            try (SSLSocket socket = TlsStage.connect(client, TlsStage.port(strict), null)) {
                socket.setEnabledProtocols(new String[] {"TLSv1.2"});
                assertThatThrownBy(socket::startHandshake).isInstanceOf(SSLException.class);
            }
            try (SSLSocket socket = TlsStage.connect(client, TlsStage.port(strict), null)) {
                assertThat(TlsStage.live(socket)).startsWith(LIVE);
            }
        }
    }

    @Test
    void plainText_isClosed_andOthersAreServed() throws Exception {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port());
                SSLSocket other = TlsStage.connect(client, port(), null)) {
            other.startHandshake();
            socket.getOutputStream().write("GET / HTTP/1.1\r\nHost: a\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
            socket.setSoTimeout(20_000);
            assertThat(new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1))
                    .doesNotContain("HTTP");
            assertThat(TlsStage.live(other)).startsWith(LIVE);
        }
        await().until(() -> handshakes("plain_text") == 1);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 5, 100})
    void clientThatDoesNotFinishTheHandshake_isClosed(int bytes) throws Exception {
        byte[] start = new byte[bytes];
        if (bytes > 0) {
            start[0] = 22;
        }
        if (bytes >= 5) {
            start[1] = 3;
            start[2] = 1;
            start[3] = 1;
        }
        if (bytes > 5) {
            start[5] = 1;
        }
        hurry();
        long began = System.nanoTime();
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port())) {
            socket.setSoTimeout(20_000);
            socket.getOutputStream().write(start);
            assertThat(socket.getInputStream().read()).isEqualTo(-1);
        }
        assertThat(Duration.ofNanos(System.nanoTime() - began)).isGreaterThanOrEqualTo(Duration.ofMillis(450));
        await().until(() -> handshakes("timeout") == 1);
        assertThat(TlsStage.count(gateway, "isthmus.connections.timeouts", "rule", "tls_handshake"))
                .isEqualTo(1);
        await().until(() ->
                gateway.meters().get("isthmus.connections.open").gauge().value() == 0);
    }

    @Test
    void clientThatStopsAfterTheClientHello_isClosed() throws Exception {
        hurry();
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port())) {
            socket.setSoTimeout(20_000);
            socket.getOutputStream().write(HelloBytes.of(client, "localhost"));
            assertThat(socket.getInputStream().readAllBytes()).startsWith(22);
        }
        await().until(() -> handshakes("timeout") == 1);
    }

    @Test
    void clientHelloThatIsTooLarge_isClosed() throws Exception {
        // A handshake message of 20,000 bytes, in two records.
        byte[] records = new byte[20_000];
        records[0] = 22;
        records[1] = 3;
        records[2] = 1;
        records[3] = 0x40;
        records[5] = 1;
        records[7] = 0x4e;
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port())) {
            socket.setSoTimeout(20_000);
            socket.getOutputStream().write(records);
            assertThat(socket.getInputStream().readAllBytes()).hasSizeLessThan(100);
        } catch (SocketException reset) {
            // Also an end: the rest of the bytes was not read.
        }
        await().until(() -> handshakes("failed") == 1);
        assertThat(handshakes("timeout")).isZero();
    }

    @Test
    void closingOfTheGatewaysSide_isReported() throws Exception {
        try (SSLSocket socket = TlsStage.connect(client, port(), null)) {
            String response =
                    TlsStage.ask(socket, "GET /v2/health/live HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
            assertThat(response).startsWith(LIVE);
            // Without close_notify the JDK throws.
            assertThat(socket.getInputStream().read()).isEqualTo(-1);
        }
    }
}
