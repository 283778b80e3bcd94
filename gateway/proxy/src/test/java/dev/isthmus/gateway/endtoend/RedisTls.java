package dev.isthmus.gateway.endtoend;

import dev.isthmus.gateway.settings.TestAuthority;
import dev.isthmus.gateway.settings.TlsFiles;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;

/** A certificate that servers on 127.0.0.1 share, and their user 'isthmus' with the documented rights. */
final class RedisTls {
    static final String PASSWORD = "secret";

    private final TestAuthority authority;
    private final TestAuthority.Issued own;

    RedisTls(Path folder) throws Exception {
        authority = new TestAuthority(folder, "ca");
        own = authority.issue("redis", "localhost", "127.0.0.1");
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
                "no",
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

    /** A connection to a server. */
    Socket connect(int port) throws IOException {
        return TlsFiles.trusting(authority.ca())
                .getSocketFactory()
                .createSocket(InetAddress.getLoopbackAddress(), port);
    }
}
