package dev.isthmus.gateway.settings;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.gateway.settings.TestAuthority.Issued;
import dev.isthmus.gateway.settings.TlsFiles.KeyedCertificate;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.KeyPair;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Files of TLS, and what the configuration says about them. */
class TlsFilesTest {
    @TempDir
    Path folder = Path.of("");

    private TestAuthority authority = new TestAuthority(Path.of(System.getProperty("java.io.tmpdir")), "unused");

    @BeforeEach
    void createAuthority() {
        authority = new TestAuthority(folder, "ca");
    }

    private void keyFile(Issued issued, String text) throws IOException {
        Files.writeString(issued.key(), text);
    }

    @ParameterizedTest
    @CsvSource({"EC, 256", "EC, 384", "EC, 521", "RSA, 2048"})
    void keys_areReadInPkcs8AndInTheOlderFormats(String algorithm, int bits) throws Exception {
        KeyPair keys = TestAuthority.keys(algorithm, bits);
        Issued issued = authority.issue("server", keys, List.of());
        KeyedCertificate keyed = TlsFiles.keyed(issued.certificate(), issued.key());
        assertThat(keyed.key()).isEqualTo(keys.getPrivate());
        assertThat(keyed.certificate()).isEqualTo(issued.x509());

        keyFile(issued, TestAuthority.pem(keys.getPrivate()));
        assertThat(Files.readString(issued.key())).contains("BEGIN " + algorithm + " PRIVATE KEY");
        assertThat(TlsFiles.keyed(issued.certificate(), issued.key()).key()).isEqualTo(keys.getPrivate());
    }

    @Test
    void chain_isReadInOrder_fromBetweenText() throws Exception {
        Issued issued = authority.issue("server", "a.example");
        Files.writeString(
                issued.certificate(),
                "subject=server\n" + TestAuthority.pem(issued.x509()) + "\nissuer\r\n"
                        + TestAuthority.pem(authority.x509()).replace("\n", "\r\n"));
        assertThat(TlsFiles.keyed(issued.certificate(), issued.key()).chain())
                .containsExactly(issued.x509(), authority.x509());
    }

    @Test
    void expiredCertificate_isRead() {
        Issued issued = authority.expired("old", "a.example");
        assertThat(TlsFiles.keyed(issued.certificate(), issued.key()).certificate())
                .isEqualTo(issued.x509());
    }

    private void refused(Issued issued, Path file, String reason) {
        assertThatThrownBy(() -> TlsFiles.keyed(issued.certificate(), issued.key()))
                .isInstanceOf(TlsFileException.class)
                .hasMessage(file + " " + reason);
    }

    @Test
    void key_thatDoesNotFit_isRefused() throws Exception {
        Issued issued = authority.issue("server", "a.example");
        keyFile(issued, TestAuthority.pem(TestAuthority.ecKeys()));
        refused(issued, issued.key(), "does not fit the certificate in " + issued.certificate());
        keyFile(issued, TestAuthority.pem(TestAuthority.keys("EC", 384)));
        refused(issued, issued.key(), "does not fit the certificate in " + issued.certificate());
        keyFile(issued, TestAuthority.pem(TestAuthority.keys("RSA", 2048)));
        refused(issued, issued.key(), "has no usable key of the certificate's type, EC");
    }

    @Test
    void file_thatIsMissingEmptyOrSomethingElse_isRefused() throws Exception {
        Issued issued = authority.issue("server", "a.example");
        keyFile(issued, "");
        refused(issued, issued.key(), "has no key; 'BEGIN PRIVATE KEY' is expected");
        keyFile(issued, "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIC\n-----END ENCRYPTED PRIVATE KEY-----\n");
        refused(
                issued,
                issued.key(),
                "is encrypted; a key without a password, in a file that only its owner can read, is expected");
        Files.delete(issued.key());
        refused(issued, issued.key(), "does not exist");
        Files.writeString(issued.certificate(), TestAuthority.pem(issued.keys()));
        refused(issued, issued.certificate(), "has no certificate; 'BEGIN CERTIFICATE' is expected");
        Files.writeString(issued.certificate(), "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
        refused(issued, issued.certificate(), "has a malformed certificate");
        Files.delete(issued.certificate());
        Files.createDirectory(issued.certificate());
        refused(issued, issued.certificate(), "is a directory; a file in PEM format is expected");
    }

    @Test
    void key_thatOthersCanRead_isRefused() throws Exception {
        Issued issued = authority.issue("server", "a.example");
        Files.setPosixFilePermissions(issued.key(), PosixFilePermissions.fromString("rw-r--r--"));
        assertThatThrownBy(() -> TlsFiles.keyed(issued.certificate(), issued.key()))
                .isInstanceOf(TlsFileException.class)
                .hasMessageStartingWith(issued.key() + " has mode 644: others can read it");
        Files.setPosixFilePermissions(issued.key(), PosixFilePermissions.fromString("rw-r-----"));
        assertThat(TlsFiles.keyed(issued.certificate(), issued.key()).chain()).hasSize(1);
    }

    @Test
    void keys_thatAreWeakOrOfAnotherKind_areRefused() {
        Issued weak = authority.issue("weak", TestAuthority.keys("RSA", 1024), List.of());
        refused(weak, weak.certificate(), "has an RSA key of 1024 bits; at least 2048 are expected");
        Issued other = authority.issue("other", TestAuthority.keys("Ed25519", 255), List.of());
        refused(other, other.certificate(), "has a key of type EdDSA; RSA or EC is expected");
    }

    @Test
    void revocationLists_areRead() throws Exception {
        Issued issued = authority.issue("client");
        Path crl = authority.revoke(issued);
        assertThat(TlsFiles.revocations(crl).getFirst().isRevoked(issued.x509()))
                .isTrue();
        assertThatThrownBy(() -> TlsFiles.revocations(authority.ca()))
                .hasMessage(authority.ca() + " has no revocation list; 'BEGIN X509 CRL' is expected");
    }

    private List<String> problems(String text) {
        try {
            ConfigLoader.parse("isthmus.yaml", text, folder);
            return List.of();
        } catch (ConfigException e) {
            return e.problems();
        }
    }

    @Test
    void configuration_namesFileLineKeyAndReason() throws Exception {
        Issued one = authority.issue("one", "a.example");
        keyFile(one, TestAuthority.pem(TestAuthority.ecKeys()));
        assertThat(problems("""
                        default_upstream: local
                        local: {embedded_models: true}
                        listeners:
                        - port: 0
                          tls:
                            certificates:
                            - certificate: ca-one.pem
                              key: ca-one.key
                            - {certificate: gone.pem, key: ca-one.key}
                            client_certificates: {mode: required, crl: ca-ca.pem}
                            minimum_version: 1.1
                        """))
                .containsExactlyInAnyOrder(
                        "isthmus.yaml:11:22: listener: tls: minimum_version: one of 1.2, 1.3 is expected, got '1.1'",
                        "isthmus.yaml:8:12: listener 127.0.0.1:0: tls: key: " + folder.resolve("ca-one.key")
                                + " does not fit the certificate in " + folder.resolve("ca-one.pem"),
                        "isthmus.yaml:9:21: listener 127.0.0.1:0: tls: certificate: " + folder.resolve("gone.pem")
                                + " does not exist",
                        "isthmus.yaml:10:33: listener 127.0.0.1:0: tls: client_certificates: 'ca' is required if clients"
                                + " are asked",
                        "isthmus.yaml:10:48: listener 127.0.0.1:0: tls: client_certificates: crl: "
                                + folder.resolve("ca-ca.pem")
                                + " has no revocation list; 'BEGIN X509 CRL' is expected");
    }

    @Test
    void upstream_needsCertificateAndKeyTogether() {
        authority.issue("one", "a.example");
        assertThat(problems("""
                        upstreams:
                          t:
                            protocol: grpc
                            endpoints: [localhost:1]
                            tls: {ca: gone.pem, certificate: ca-one.pem}
                        default_upstream: t
                        """))
                .containsExactlyInAnyOrder(
                        "isthmus.yaml:5:15: upstream 't': tls: ca: " + folder.resolve("gone.pem") + " does not exist",
                        "isthmus.yaml:5:10: upstream 't': tls: 'certificate' and 'key' are expected together");
    }

    @Test
    void tls_isReadInFull() throws Exception {
        authority.issue("one", "a.example");
        authority.revoke();
        GatewayConfig config = ConfigLoader.parse("isthmus.yaml", """
                listeners:
                - name: public
                  port: 8443
                  tls:
                    certificates: [{certificate: ca-one.pem, key: ca-one.key}]
                    handshake_timeout: 3s
                    client_certificates: {mode: optional, ca: ca-ca.pem, crl: ca-crl.pem}
                    minimum_version: "1.3"
                admin:
                  tls: {certificates: [{certificate: ca-one.pem, key: ca-one.key}]}
                upstreams:
                  t:
                    protocol: grpc
                    endpoints: [localhost:1]
                    tls: {ca: ca-ca.pem, server_name: t.example, certificate: ca-one.pem, key: ca-one.key}
                  u:
                    protocol: rest
                    endpoints: [localhost:1]
                    tls: {}
                default_upstream: t
                """, folder);
        ListenerTls.CertificateFiles files =
                new ListenerTls.CertificateFiles(folder.resolve("ca-one.pem"), folder.resolve("ca-one.key"));
        assertThat(config.listeners().getFirst().label()).isEqualTo("public");
        assertThat(config.listeners().getFirst().tls())
                .isEqualTo(new ListenerTls(
                        List.of(files),
                        Duration.ofSeconds(3),
                        new ListenerTls.ClientCertificates(
                                ListenerTls.ClientCertificateMode.OPTIONAL,
                                folder.resolve("ca-ca.pem"),
                                folder.resolve("ca-crl.pem")),
                        ListenerTls.TlsVersion.TLS_1_3));
        assertThat(Objects.requireNonNull(config.admin()).tls())
                .isEqualTo(
                        TestConfigs.with(DefaultValues.of(ListenerTls.class), Map.of("certificates", List.of(files))));
        assertThat(Objects.requireNonNull(config.upstreams().get("t")).tls())
                .isEqualTo(new UpstreamTls(
                        folder.resolve("ca-ca.pem"),
                        "t.example",
                        folder.resolve("ca-one.pem"),
                        folder.resolve("ca-one.key")));
        assertThat(Objects.requireNonNull(config.upstreams().get("u")).tls())
                .isEqualTo(DefaultValues.of(UpstreamTls.class));
    }

    @Test
    void listeners_haveDifferentNames() {
        assertThat(problems("""
                        default_upstream: local
                        local: {embedded_models: true}
                        listeners: [{name: a, port: 1}, {name: a, port: 2}, {port: 1}]
                        """))
                .containsExactlyInAnyOrder(
                        "isthmus.yaml:3:40: listener: the name 'a' is given twice",
                        "isthmus.yaml:3:53: listener: 127.0.0.1:1 is given twice");
    }
}
