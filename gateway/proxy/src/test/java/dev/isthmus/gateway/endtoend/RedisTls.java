package dev.isthmus.gateway.endtoend;

import dev.isthmus.gateway.settings.TestAuthority;
import dev.isthmus.gateway.settings.TlsFiles;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.util.List;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** A certificate that servers on 127.0.0.1 share, and their user 'isthmus' with the documented rights. */
final class RedisTls {
    static final String PASSWORD = "secret";

    private final TestAuthority authority;
    private final TestAuthority.Issued own;
    private final boolean mutual;

    /** Servers that do not ask clients for a certificate. */
    RedisTls(Path folder) throws Exception {
        this(folder, false);
    }

    private RedisTls(Path folder, boolean mutual) throws Exception {
        authority = new TestAuthority(folder, "ca");
        own = authority.issue("redis", "localhost", "127.0.0.1");
        this.mutual = mutual;
    }

    /** Servers that refuse clients without a certificate of the authority. */
    static RedisTls mutual(Path folder) throws Exception {
        return new RedisTls(folder, true);
    }

    /** A certificate for a client. */
    TestAuthority.Issued client(String file) {
        return authority.issue(file, "gateway");
    }

    Path ca() {
        return authority.ca();
    }

    /** Options of servers, which also connect to each other over TLS. */
    List<String> options() {
        return List.of(
                "--tls-cert-file",
                own.certificate().toString(),
                "--tls-key-file",
                own.key().toString(),
                "--tls-ca-cert-file",
                authority.ca().toString(),
                "--tls-auth-clients",
                mutual ? "yes" : "no",
                "--tls-replication",
                "yes");
    }

    /** The options for the user; more commands may be added. */
    static List<String> user() {
        return List.of(
                "--user",
                "isthmus",
                "on",
                ">" + PASSWORD,
                "~isthmus:*",
                "+eval",
                "+evalsha",
                "+time",
                "+get",
                "+set",
                "+hmget",
                "+hset",
                "+ping",
                "+select");
    }

    /** A file with a password, as a gateway expects it. */
    static Path password(Path file, String password) throws IOException {
        Files.writeString(file, password + "\n");
        return Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
    }

    /** A connection to a server, with the certificate of the servers if they ask for one. */
    Socket connect(int port) throws IOException {
        SSLContext context = TlsFiles.trusting(authority.ca());
        if (mutual) {
            try {
                KeyStore keys = KeyStore.getInstance(KeyStore.getDefaultType());
                keys.load(null, null);
                keys.setKeyEntry("own", own.keys().getPrivate(), new char[0], new Certificate[] {own.x509()});
                KeyManagerFactory managers = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
                managers.init(keys, new char[0]);
                TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
                KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
                trusted.load(null, null);
                trusted.setCertificateEntry("ca", authority.x509());
                trust.init(trusted);
                context = SSLContext.getInstance("TLS");
                context.init(managers.getKeyManagers(), trust.getTrustManagers(), null);
            } catch (GeneralSecurityException e) {
                throw new IllegalStateException(e);
            }
        }
        return context.getSocketFactory().createSocket(InetAddress.getLoopbackAddress(), port);
    }
}
