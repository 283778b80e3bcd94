package dev.isthmus.gateway.endtoend;

import dev.isthmus.gateway.Gateway;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The console's page "Try it" in a real browser. With {@code -Disthmus.screenshots=FOLDER} the picture of the
 * documentation is made.
 */
class TryItBrowserTest {
    private static final String TOKEN = "a-long-secret";

    @Test
    void page(@TempDir Path folder) throws Exception {
        Path token = Files.writeString(folder.resolve("token"), TOKEN);
        Files.setPosixFilePermissions(token, PosixFilePermissions.fromString("rw-------"));
        try (Gateway gateway = TestGateways.start("""
                listeners: [{port: 0}]
                admin: {port: 0, token_file: %s}
                default_upstream: local
                local: {embedded_models: true}
                health: {warm_up: 0s}
                """.formatted(token))) {
            ConsoleScript.run("try.sh", ConsoleScript.url(gateway), TOKEN);
        }
    }
}
