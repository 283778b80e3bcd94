package dev.isthmus.gateway.cli;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.testing.LogConfiguratorOfTests;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.Writer;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The process and its signals. */
class ProcessTerminationTest {
    private static final String SERVES = " serves REST and gRPC on 127.0.0.1:";
    private static final String CONFIG = """
            listeners: [{host: 127.0.0.1, port: 0}]
            health: {warm_up: 0s}
            local: {embedded_models: true}
            default_upstream: local
            """;
    private static final int KILLED_BY_TERM = 143;

    @TempDir
    Path folder = Path.of(".");

    /** A gateway as a process of its own. */
    private record GatewayUnderTest(Process process, BufferedReader out) implements AutoCloseable {
        static GatewayUnderTest start(Path file, String drain) throws IOException {
            return start(Files.writeString(file, CONFIG + "drain: " + drain));
        }

        static GatewayUnderTest start(Path file) throws IOException {
            // A shell's background jobs ignore SIGINT, and so would their children.
            Process process = new ProcessBuilder(
                            "env",
                            "--default-signal=INT,HUP",
                            Path.of(System.getProperty("java.home"), "bin", "java")
                                    .toString(),
                            "-XX:TieredStopAtLevel=1",
                            "--enable-native-access=ALL-UNNAMED",
                            // As shipped: that of the tests prints no information.
                            "-D" + LogConfiguratorOfTests.PACKAGED + "=true",
                            "-cp",
                            System.getProperty("java.class.path"),
                            IsthmusCommand.class.getName(),
                            "serve",
                            "--config",
                            file.toString())
                    .redirectErrorStream(true)
                    .start();
            return new GatewayUnderTest(process, process.inputReader(StandardCharsets.UTF_8));
        }

        /** Waits for a line with this text, and returns what follows it. */
        String await(String text) throws IOException {
            StringBuilder seen = new StringBuilder();
            for (String line = out.readLine(); line != null; line = out.readLine()) {
                int at = line.indexOf(text);
                if (at >= 0) {
                    return line.substring(at + text.length());
                }
                seen.append(line).append('\n');
            }
            throw new AssertionError("the process has ended; it printed: " + seen);
        }

        void signal(String name) throws Exception {
            assertThat(new ProcessBuilder("kill", "-" + name, Long.toString(process.pid()))
                            .start()
                            .waitFor())
                    .isZero();
        }

        int exitCode() throws InterruptedException {
            assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
            return process.exitValue();
        }

        @Override
        public void close() {
            process.destroyForcibly();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"TERM", "INT"})
    void aSignal_drains_andTheExitCodeIs0(String name) throws Exception {
        // Only SIGTERM waits for the delay.
        String delay = name.equals("TERM") ? "10ms" : "10m";
        try (GatewayUnderTest gateway =
                GatewayUnderTest.start(folder.resolve("a.yaml"), "{delay: " + delay + ", timeout: 10m}")) {
            int port = Integer.parseInt(gateway.await(SERVES));
            try (Socket client = new Socket(InetAddress.getLoopbackAddress(), port)) {
                // A connection that has a response is one of the gateway's.
                client.getOutputStream().write("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n".getBytes(US_ASCII));
                assertThat(client.getInputStream().read()).isEqualTo('H');
                gateway.signal(name);
                gateway.await("draining: SIG" + name);
                gateway.await("accepting no connections; open connections: 1");
                assertThat(client.getInputStream().readAllBytes())
                        .asString(US_ASCII)
                        .contains(" 200 OK");
            }
            assertThat(gateway.exitCode()).isZero();
        }
    }

    /** The last thing that a gateway does, without event loops that keep the process alive. */
    @Test
    void theLastMetrics_areSentBeforeTheProcessEnds() throws Exception {
        try (ServerSocket collector = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            String otlp = "{endpoint: 'http://127.0.0.1:" + collector.getLocalPort() + "/', interval: 1h}";
            try (GatewayUnderTest gateway =
                    GatewayUnderTest.start(folder.resolve("a.yaml"), "{delay: 0s}\nmetrics: {otlp: " + otlp + "}")) {
                gateway.await(SERVES);
                gateway.signal("TERM");
                collector.setSoTimeout((int) TimeUnit.MINUTES.toMillis(1));
                try (Socket export = collector.accept()) {
                    assertThat(export.getInputStream().read()).isEqualTo('P');
                    export.getOutputStream().write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".getBytes(US_ASCII));
                    gateway.await("stopped");
                    assertThat(gateway.exitCode()).isZero();
                }
            }
        }
    }

    /** What is written to it is read when the process reads its configuration. */
    private Path pipe() throws Exception {
        Path pipe = folder.resolve("pipe");
        assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor())
                .isZero();
        return pipe;
    }

    @ParameterizedTest
    @ValueSource(strings = {"TERM", "INT"})
    void aSignalDuringTheStart_endsIt_andTheExitCodeIs0(String name) throws Exception {
        Path pipe = pipe();
        try (GatewayUnderTest gateway = GatewayUnderTest.start(pipe);
                Writer config = Files.newBufferedWriter(pipe)) {
            assertThat(config).isNotNull();
            gateway.signal(name);
            assertThat(gateway.exitCode()).isZero();
        }
    }

    /** A service manager may ask for a reload as soon as the process runs. */
    @Test
    void aHangupDuringTheStart_doesNotEndIt() throws Exception {
        Path pipe = pipe();
        try (GatewayUnderTest gateway = GatewayUnderTest.start(pipe)) {
            // Opened when the process opens it.
            try (Writer config = Files.newBufferedWriter(pipe)) {
                gateway.signal("HUP");
                config.write(CONFIG);
            }
            gateway.await(SERVES);
        }
    }

    @Test
    void aSecondSignal_endsAtOnce() throws Exception {
        try (GatewayUnderTest gateway =
                GatewayUnderTest.start(folder.resolve("a.yaml"), "{delay: 10m, timeout: 10m}")) {
            gateway.await(SERVES);
            gateway.signal("TERM");
            gateway.await("draining: SIGTERM");
            gateway.signal("TERM");
            assertThat(gateway.exitCode()).isEqualTo(KILLED_BY_TERM);
        }
    }
}
