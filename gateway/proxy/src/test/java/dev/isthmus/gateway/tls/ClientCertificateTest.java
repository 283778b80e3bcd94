package dev.isthmus.gateway.tls;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.ClientCertificate;
import dev.isthmus.gateway.call.ClientConnection;
import dev.isthmus.gateway.call.TlsSession;
import dev.isthmus.gateway.flow.ProxyServer;
import dev.isthmus.gateway.ingress.TlsIngress;
import dev.isthmus.gateway.settings.ListenerTls;
import dev.isthmus.gateway.settings.TestAuthority;
import dev.isthmus.gateway.settings.TestAuthority.Issued;
import io.grpc.ManagedChannel;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import org.bouncycastle.asn1.x509.GeneralName;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Certificates of clients. */
@Timeout(120)
class ClientCertificateTest {
    @TempDir
    Path folder = Path.of("");

    private TestAuthority authority;
    private Issued known;
    private Issued foreign;

    @BeforeEach
    void issue() {
        authority = new TestAuthority(folder, "ca");
        authority.issue("server", "localhost");
        known = authority.issue(
                "known",
                TestAuthority.ecKeys(),
                List.of(
                        new GeneralName(GeneralName.dNSName, "client.example"),
                        new GeneralName(GeneralName.uniformResourceIdentifier, "spiffe://example/client"),
                        new GeneralName(GeneralName.rfc822Name, "client@example.org")));
        foreign = new TestAuthority(folder, "stranger").issue("foreign", "client.example");
    }

    private ProxyServer gateway(String clients) throws Exception {
        return TlsStage.gateway(
                folder,
                "{port: 0, tls: {certificates: [{certificate: ca-server.pem, key: ca-server.key}],"
                        + " client_certificates: " + clients + "}}");
    }

    private String live(ProxyServer gateway, @Nullable Issued own) throws Exception {
        return live(TlsStage.trusting(authority, own), gateway);
    }

    private static String live(SSLContext context, ProxyServer gateway) throws IOException {
        try (SSLSocket socket = TlsStage.connect(context, TlsStage.port(gateway), "localhost")) {
            return TlsStage.live(socket).lines().findFirst().orElse("");
        }
    }

    private void expectRefused(ProxyServer gateway, @Nullable Issued own) {
        // In TLS 1.3 the client learns it with its first read.
        assertThatThrownBy(() -> assertThat(live(gateway, own)).startsWith("HTTP"))
                .isInstanceOfAny(IOException.class, AssertionError.class);
    }

    @Test
    void required_admitsOnlyVerifiedClients() throws Exception {
        try (ProxyServer gateway = gateway("{mode: required, ca: ca-ca.pem}")) {
            assertThat(live(gateway, known)).isEqualTo("HTTP/1.1 200 OK");
            expectRefused(gateway, null);
            expectRefused(gateway, foreign);
            expectRefused(gateway, authority.expired("old", "client.example"));
            // The client may read the alert before its handshake is counted.
            await().untilAsserted(() -> assertThat(
                            TlsStage.count(gateway, "isthmus.tls.handshakes", "side", "client", "result", "failed"))
                    .isEqualTo(3));
            ManagedChannel channel = TlsStage.grpc(TlsStage.port(gateway), authority, "localhost", known);
            assertThat(TlsStage.infer(channel)).isEqualTo(2);
            TlsStage.close(channel);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"TLSv1.2", "TLSv1.3"})
    void refusedCertificate_isExplained(String version) throws Exception {
        try (ProxyServer gateway = gateway("{mode: required, ca: ca-ca.pem}")) {
            // The connection may be reset before the client has read the alert.
            await().untilAsserted(
                            () -> assertThat(alert(gateway, foreign, version)).contains("unknown_ca"));
            Issued old = authority.expired("old", "client.example");
            await().untilAsserted(() -> assertThat(alert(gateway, old, version)).contains("certificate_expired"));
        }
    }

    private String alert(ProxyServer gateway, Issued own, String version) throws Exception {
        SSLContext context = TlsStage.trusting(authority, own);
        try (SSLSocket socket = TlsStage.connect(context, TlsStage.port(gateway), "localhost")) {
            socket.setEnabledProtocols(new String[] {version});
            socket.startHandshake();
            return "read " + socket.getInputStream().read();
        } catch (IOException refused) {
            return String.valueOf(refused.getMessage());
        }
    }

    @Test
    void optional_admitsClientsWithout_butNotWithAnUnverifiedOne() throws Exception {
        try (ProxyServer gateway = gateway("{mode: optional, ca: ca-ca.pem}")) {
            assertThat(live(gateway, known)).isEqualTo("HTTP/1.1 200 OK");
            assertThat(live(gateway, null)).isEqualTo("HTTP/1.1 200 OK");
            expectRefused(gateway, foreign);
        }
    }

    @Test
    void none_asksForNone() throws Exception {
        try (ProxyServer gateway = gateway("{mode: none, ca: ca-ca.pem}")) {
            assertThat(live(gateway, foreign)).isEqualTo("HTTP/1.1 200 OK");
        }
    }

    @Test
    void revokedCertificate_isRefused_evenInAResumedSession() throws Exception {
        authority.revoke();
        Issued other = authority.issue("other", "other.example");
        try (ProxyServer gateway = gateway("{mode: required, ca: ca-ca.pem, crl: ca-crl.pem}")) {
            SSLContext client = TlsStage.trusting(authority, known);
            assertThat(live(client, gateway)).isEqualTo("HTTP/1.1 200 OK");
            assertThat(live(client, gateway)).isEqualTo("HTTP/1.1 200 OK");
            authority.revoke(known);
            gateway.reload();
            assertThatThrownBy(() -> assertThat(live(client, gateway)).startsWith("HTTP"))
                    .isInstanceOfAny(IOException.class, AssertionError.class);
            assertThat(live(gateway, other)).isEqualTo("HTTP/1.1 200 OK");
        }
    }

    @Test
    void listOfAnotherIssuer_refusesEveryone() throws Exception {
        TestAuthority stranger = new TestAuthority(folder, "stranger");
        stranger.revoke();
        try (ProxyServer gateway = gateway("{mode: required, ca: ca-ca.pem, crl: stranger-crl.pem}")) {
            expectRefused(gateway, known);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"TLSv1.2", "TLSv1.3"})
    void calls_knowTheCertificate(String version) throws Exception {
        ListenerTls settings = Objects.requireNonNull(TlsStage.local(
                        folder,
                        "{port: 0, tls: {certificates: [{certificate: ca-server.pem, key: ca-server.key}],"
                                + " client_certificates: {mode: optional, ca: ca-ca.pem}}}")
                .listeners()
                .getFirst()
                .tls());
        try (ServerTls tls = new TlsRegistry(new SimpleMeterRegistry()).server("test", settings);
                TlsIngress ingress = new TlsIngress(tls)) {
            SSLContext client = TlsStage.trusting(authority, known);
            // The second session is a resumed one.
            for (int i = 0; i < 2; i++) {
                TlsSession session =
                        Objects.requireNonNull(call(ingress, client, version).tls());
                assertThat(session.protocol()).isEqualTo(version);
                assertThat(session.cipher()).startsWith("TLS_");
                assertThat(session.host()).isEqualTo("localhost");
                assertThat(session.certificate())
                        .isEqualTo(new ClientCertificate(
                                "O=Test,CN=known",
                                List.of("client.example"),
                                List.of("spiffe://example/client"),
                                List.of("client@example.org")));
            }
            ClientConnection anonymous = call(ingress, TlsStage.trusting(authority, null), version);
            assertThat(anonymous.tls()).isNotNull();
            assertThat(anonymous.certificate()).isNull();
            assertThat(anonymous.listener()).isEqualTo("test");
        }
    }

    private static ClientConnection call(TlsIngress ingress, SSLContext client, String version) throws Exception {
        try (SSLSocket socket = TlsStage.connect(client, ingress.port(), "localhost")) {
            socket.setEnabledProtocols(new String[] {version});
            TlsStage.live(socket);
            CallContext call = ingress.next();
            return Objects.requireNonNull(call.connection());
        }
    }
}
