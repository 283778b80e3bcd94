package dev.isthmus.gateway.endtoend;

import dev.isthmus.gateway.Gateway;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The console with a real provider of OpenID Connect in a real browser. */
class OidcBrowserTest {
    private static final String SECRET = "the secret of the client: 50%";

    @Test
    void login(@TempDir Path folder) throws Exception {
        Path secret = Files.writeString(folder.resolve("secret"), SECRET);
        Files.setPosixFilePermissions(secret, PosixFilePermissions.fromString("rw-------"));
        int port = RealServer.freePort();
        String yaml = """
                listeners: [{port: 0}]
                admin:
                  port: 0
                  oidc:
                    issuer: http://localhost:%d
                    client_id: isthmus
                    client_secret_file: %s
                    scopes: [groups]
                    roles: {platform: admin, people: read}
                health: {warm_up: 0s}
                local: {embedded_models: true}
                default_upstream: local
                """.formatted(port, secret);
        try (Gateway gateway = TestGateways.start(yaml)) {
            ConsoleScript.run("oidc.sh", ConsoleScript.url(gateway), Integer.toString(port), SECRET);
        }
    }
}
