package dev.isthmus.gateway.endtoend;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.Gateway;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
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
            List<String> arguments = new ArrayList<>(List.of(
                    "http://127.0.0.1:" + gateway.adminAddress().orElseThrow().getPort(), TOKEN));
            String screenshots = System.getProperty("isthmus.screenshots");
            if (screenshots != null) {
                arguments.add(Files.createDirectories(Path.of(screenshots))
                        .toAbsolutePath()
                        .resolve("console-try.png")
                        .toString());
            }
            Script.Outcome outcome = Script.run("try.sh", arguments.toArray(String[]::new));
            System.out.println(outcome.text());
            assertThat(outcome.complaint()).isEmpty();
            assertThat(outcome.text()).endsWith("all passed\n");
        }
    }
}
