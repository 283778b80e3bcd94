package dev.isthmus.local.ort;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.local.LocalBackend;
import dev.isthmus.oip.ModelRef;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** A process of its own, for what a process does only once. */
class CommandLineTest {
    /** Some class paths are as long. */
    private static final int LONG = 60_000;

    /** Loads the embedded models. */
    static final class Program {
        private Program() {}

        public static void main(String[] arguments) {
            try (LocalBackend backend = LocalBackend.embedded(1, 1)) {
                System.out.println("ready: " + backend.ready(ModelRef.of("digits")));
            }
        }
    }

    @Test
    void backend_withALongCommandLine_starts() throws IOException, InterruptedException {
        List<String> command = List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                "-Dlong=" + "x/".repeat(LONG / 2),
                Program.class.getName());
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), UTF_8);
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        assertThat(output).contains("ready: true");
        assertThat(process.exitValue()).as(output).isZero();
    }
}
