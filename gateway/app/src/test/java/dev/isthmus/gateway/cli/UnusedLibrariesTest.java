package dev.isthmus.gateway.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Libraries of features that are off cost nothing: none of their classes is loaded. */
class UnusedLibrariesTest {

    @Test
    void withoutTracesAndSharing_nothingOfTheirLibrariesIsLoaded(@TempDir Path folder) throws Exception {
        Path classes = folder.resolve("classes.log");
        ProcessBuilder java = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "--enable-native-access=ALL-UNNAMED",
                "-Xlog:class+load:file=" + classes,
                "-cp",
                System.getProperty("java.class.path"),
                IsthmusCommand.class.getName(),
                "train");
        Path said = folder.resolve("said.txt");
        Process process =
                java.redirectErrorStream(true).redirectOutput(said.toFile()).start();
        assertThat(process.waitFor(3, TimeUnit.MINUTES)).isTrue();
        assertThat(process.exitValue()).as(Files.readString(said)).isZero();
        assertThat(Files.readString(classes))
                .contains("dev.isthmus.gateway.tracing.ReloadableTracing ")
                .doesNotContain("io.opentelemetry", "dev.isthmus.gateway.tracing.CallTracer", "io.lettuce", "reactor.");
    }
}
