package dev.isthmus.bench.sizing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.cli.IsthmusCommand;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

/** The whole bench with a small fleet, and the gateway from the class path. */
class SizingTest {
    private static ProcessBuilder gateway(Path config) {
        return new ProcessBuilder(
                ProcessHandle.current().info().command().orElse("java"),
                "--enable-native-access=ALL-UNNAMED",
                "-Xmx128m",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                IsthmusCommand.class.getName(),
                "serve",
                "--no-watch",
                "--config",
                config.toString());
    }

    @Test
    void smallFleet_isMeasured() throws Exception {
        SizingCommand sizing = new SizingCommand();
        StringWriter out = new StringWriter();
        CommandLine command = new CommandLine(sizing).setOut(new PrintWriter(out, true));
        command.parseArgs(
                "--models=20",
                "--servers=4",
                "--upstreams=2",
                "--settle=0",
                "--idle=1",
                "--reloads=1",
                "--rounds=0",
                "--settings=health: {warm_up: 0s, server_ready: models}");

        sizing.run(SizingTest::gateway);

        assertThat(out.toString())
                .contains("| 1 models, 2 servers in 1 upstreams |", "| 20 models, 4 servers in 2 upstreams |")
                .contains("| reload: median, s |", "ModelReady ", "ServerReady ", "| metrics: time series |");
    }
}
