package dev.isthmus.gateway.tls;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.flow.ProxyServer;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.Listener;
import dev.isthmus.gateway.settings.TestAuthority;
import dev.isthmus.gateway.settings.TestAuthority.Issued;
import dev.isthmus.gateway.settings.TlsFileException;
import io.micrometer.core.instrument.Gauge;
import java.math.BigInteger;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.Objects;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Certificates that change while the gateway runs. */
@Timeout(120)
class CertificateReloadTest {
    private static final String LISTENER =
            "{port: 0, tls: {certificates: [{certificate: ca-server.pem, key: ca-server.key}]}}";

    @TempDir
    Path folder = Path.of("");

    private TestAuthority authority;
    private @Nullable ProxyServer started;

    @BeforeEach
    void create() {
        authority = new TestAuthority(folder, "ca");
    }

    @AfterEach
    void close() {
        if (started != null) {
            started.close();
        }
    }

    private ProxyServer gateway() {
        return Objects.requireNonNull(started);
    }

    private void start(String listener) throws Exception {
        started = TlsStage.gateway(folder, listener);
    }

    private BigInteger shown() throws Exception {
        // A context of its own: no session is resumed.
        return TlsStage.shown(TlsStage.trusting(authority, null), TlsStage.port(gateway()), "localhost")
                .getSerialNumber();
    }

    private void awaitShown(Issued issued) {
        await().atMost(Duration.ofSeconds(30))
                .until(() -> shown().equals(issued.x509().getSerialNumber()));
    }

    private double reloads(String result) {
        return TlsStage.count(gateway(), "isthmus.tls.reloads", "result", result);
    }

    private @Nullable Gauge expiry() {
        return gateway()
                .meters()
                .find("isthmus.tls.certificate.expiry")
                .tags("file", folder.resolve("ca-server.pem").toString(), "subject", "O=Test,CN=server")
                .gauge();
    }

    @Test
    void changedFiles_areUsedForNewConnections_andOpenOnesStay() throws Exception {
        Issued first = authority.issue("server", "localhost");
        start(LISTENER);
        assertThat(shown()).isEqualTo(first.x509().getSerialNumber());
        assertThat(Objects.requireNonNull(expiry()).value())
                .isEqualTo((double) first.x509().getNotAfter().toInstant().getEpochSecond());

        SSLContext client = TlsStage.trusting(authority, null);
        try (SSLSocket open = TlsStage.connect(client, TlsStage.port(gateway()), "localhost");
                SSLSocket pending = TlsStage.connect(client, TlsStage.port(gateway()), "localhost")) {
            assertThat(TlsStage.live(open)).startsWith("HTTP/1.1 200 OK");
            for (int i = 1; i <= 3; i++) {
                Issued next = authority.issue("server", "localhost");
                awaitShown(next);
                assertThat(reloads("applied")).isEqualTo(i);
                assertThat(TlsStage.live(open)).startsWith("HTTP/1.1 200 OK");
            }
            // Accepted before, and its handshake is after.
            assertThat(TlsStage.live(pending)).startsWith("HTTP/1.1 200 OK");
        }
        assertThat(reloads("rejected")).isZero();
    }

    @Test
    void filesThatCannotBeUsed_leaveThePreviousOnes() throws Exception {
        Issued first = authority.issue("server", "localhost");
        start(LISTENER);
        Files.writeString(first.key(), TestAuthority.pem(TestAuthority.ecKeys()));
        await().atMost(Duration.ofSeconds(30)).until(() -> reloads("rejected") == 1);
        assertThat(shown()).isEqualTo(first.x509().getSerialNumber());
        Files.delete(first.key());
        await().atMost(Duration.ofSeconds(30)).until(() -> reloads("rejected") == 2);
        assertThat(shown()).isEqualTo(first.x509().getSerialNumber());

        Issued next = authority.issue("server", "localhost");
        awaitShown(next);
        Files.setPosixFilePermissions(next.key(), PosixFilePermissions.fromString("rw-r--r--"));
        await().atMost(Duration.ofSeconds(30)).until(() -> reloads("rejected") == 3);
        assertThat(reloads("applied")).isEqualTo(1);
        Files.setPosixFilePermissions(next.key(), PosixFilePermissions.fromString("rw-------"));
        await().atMost(Duration.ofSeconds(30)).until(() -> reloads("applied") == 2);
    }

    /** Kubernetes moves the link {@code ..data} to a new folder. */
    @Test
    void secretsOfKubernetes_areFollowed() throws Exception {
        Path secret = Files.createDirectory(folder.resolve("secret"));
        Issued first = publish(secret, "1");
        Files.createSymbolicLink(secret.resolve("tls.crt"), Path.of("..data/tls.crt"));
        Files.createSymbolicLink(secret.resolve("tls.key"), Path.of("..data/tls.key"));
        start("{port: 0, tls: {certificates: [{certificate: secret/tls.crt, key: secret/tls.key}]}}");
        assertThat(shown()).isEqualTo(first.x509().getSerialNumber());
        awaitShown(publish(secret, "2"));
        awaitShown(publish(secret, "3"));
        assertThat(reloads("rejected")).isZero();
    }

    private Issued publish(Path secret, String version) throws Exception {
        Path data = Files.createDirectory(secret.resolve("..2026_" + version));
        Issued issued = authority.issue("server", "localhost");
        Files.copy(issued.certificate(), data.resolve("tls.crt"));
        Files.copy(issued.key(), data.resolve("tls.key"), StandardCopyOption.COPY_ATTRIBUTES);
        Path link = secret.resolve("..data_tmp");
        Files.createSymbolicLink(link, data.getFileName());
        Files.move(link, secret.resolve("..data"), StandardCopyOption.ATOMIC_MOVE);
        return issued;
    }

    @Test
    void reload_readsChangedFilesAtOnce() throws Exception {
        authority.issue("server", "localhost");
        start(LISTENER);
        Issued next = authority.issue("server", "localhost");
        gateway().reload();
        assertThat(shown()).isEqualTo(next.x509().getSerialNumber());
    }

    @Test
    void listener_takesOtherSettingsWithoutANewSocket() throws Exception {
        authority.issue("server", "localhost");
        Issued other = authority.issue("other", "localhost");
        start("{port: 0}");
        int port = TlsStage.port(gateway());
        Listener plain = gateway().config().listeners().getFirst();
        gateway().reload(TlsStage.local(folder, LISTENER));
        assertThat(TlsStage.port(gateway())).isEqualTo(port);
        SSLContext client = TlsStage.trusting(authority, null);
        try (SSLSocket open = TlsStage.connect(client, port, "localhost")) {
            assertThat(TlsStage.live(open)).startsWith("HTTP/1.1 200 OK");
            assertThat(expiry()).isNotNull();

            gateway().reload(TlsStage.local(folder, LISTENER.replace("server", "other")));
            assertThat(shown()).isEqualTo(other.x509().getSerialNumber());
            assertThat(expiry()).isNull();
            assertThat(TlsStage.live(open)).startsWith("HTTP/1.1 200 OK");

            gateway().reload(gateway().config().withListener(plain));
            assertThat(TlsStage.live(open)).startsWith("HTTP/1.1 200 OK");
        }
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            assertThat(TlsStage.live(socket)).startsWith("HTTP/1.1 200 OK");
        }
        assertThat(gateway().meters().find("isthmus.tls.certificate.expiry").gauges())
                .isEmpty();
    }

    @Test
    void configurationWithFilesThatCannotBeUsed_isRejected() throws Exception {
        Issued issued = authority.issue("server", "localhost");
        start("{port: 0}");
        GatewayConfig secured = TlsStage.local(folder, LISTENER);
        Files.delete(issued.key());
        assertThatThrownBy(() -> gateway().reload(secured))
                .isInstanceOf(TlsFileException.class)
                .hasMessage(issued.key() + " does not exist");
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), TlsStage.port(gateway()))) {
            assertThat(TlsStage.live(socket)).startsWith("HTTP/1.1 200 OK");
        }
    }
}
