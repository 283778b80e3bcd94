package dev.isthmus.gateway.upstream.local;

import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.settings.ServerAddress.HostAddress;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LocalProcessTest {
    private static final Duration PATIENCE = Duration.ofMinutes(1);

    @TempDir
    Path folder;

    /** The program is not on the class path of these tests: each process ends at once. */
    private LocalProcess start() throws Exception {
        return LocalProcess.start(ConfigLoader.parse("isthmus.yaml", """
                listeners: [{port: 0}]
                default_upstream: local
                local: {embedded_models: true, process: own}
                """, folder));
    }

    private static Path folder(LocalProcess process) {
        HostAddress address = (HostAddress) process.upstream().endpoints().getFirst();
        return Path.of(address.endpoint().host()).getParent();
    }

    @Test
    void crash_ofWhichNothingCanBeRead_doesNotPreventTheNextStart() throws Exception {
        try (LocalProcess process = start()) {
            Path own = folder(process);
            Files.write(
                    own.resolve("running"),
                    ByteBuffer.allocate(512).putInt(3).put((byte) 'x').array());
            for (int starts = 0; starts < 2; starts++) {
                Path crash = Files.writeString(own.resolve("crash.log"), "#");
                await().atMost(PATIENCE).until(() -> !Files.exists(crash));
            }
        }
    }

    @Test
    void configuration_isThereAtEachStart() throws Exception {
        try (LocalProcess process = start()) {
            Path configuration = folder(process).resolve("isthmus.yaml");
            await().atMost(PATIENCE).until(() -> Files.exists(configuration));
            Files.delete(configuration);
            await().atMost(PATIENCE).until(() -> Files.exists(configuration));
        }
    }
}
