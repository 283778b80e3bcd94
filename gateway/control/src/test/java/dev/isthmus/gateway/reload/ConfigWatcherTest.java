package dev.isthmus.gateway.reload;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ConfigWatcherTest {
    private static final String TEXT = "{local: {embedded_models: true}, default_upstream: local}";

    @TempDir
    Path folder = Path.of(".");

    private final BlockingQueue<String> loaded = new LinkedBlockingQueue<>();
    private final BlockingQueue<String> causes = new LinkedBlockingQueue<>();
    private Path path = Path.of(".");
    private ConfigFile file = new ConfigFile(List.of(path), config -> config);

    @BeforeEach
    void write() throws Exception {
        path = Files.writeString(folder.resolve("isthmus.yaml"), "# first\n" + TEXT);
        file = new ConfigFile(List.of(path), config -> config);
        file.load();
    }

    private void load(String cause) {
        try {
            file.load();
            loaded.add(Files.readAllLines(path).get(0));
            causes.add(cause);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void change_isLoaded() throws Exception {
        try (ConfigWatcher watch = ConfigWatcher.start(file, this::load, true)) {
            assertThat(watch).isNotNull();
            Files.writeString(path, "# second\n" + TEXT);
            assertThat(loaded.poll(20, TimeUnit.SECONDS)).isEqualTo("# second");
            Files.writeString(path, "# third\n" + TEXT);
            assertThat(loaded.poll(20, TimeUnit.SECONDS)).isEqualTo("# third");
            assertThat(causes.take()).isEqualTo("a changed file");
        }
    }

    @Test
    void failure_doesNotEndTheWatch() throws Exception {
        try (ConfigWatcher watch = ConfigWatcher.start(file, this::load, true)) {
            Files.writeString(path, "{modles");
            watch.requestReload();
            Files.writeString(path, "# second\n" + TEXT);
            assertThat(loaded.poll(20, TimeUnit.SECONDS)).isEqualTo("# second");
        }
    }

    @Test
    void requested_withoutPolling_loads() throws Exception {
        try (ConfigWatcher watch = ConfigWatcher.start(file, this::load, false)) {
            watch.requestReload();
            assertThat(loaded.poll(20, TimeUnit.SECONDS)).isEqualTo("# first");
            assertThat(causes.take()).isEqualTo("SIGHUP");
        }
    }

    /** A process that prints what it hears; it ends when its input does. */
    public static void main(String[] arguments) throws Exception {
        ProcessSignals.onHangup(() -> System.out.println("hangup"));
        System.out.println("listening");
        while (System.in.read() >= 0) {}
    }

    /** In a process of its own, for which the signal is not ignored as it is for one that nohup has started. */
    @Test
    void hangup_isHeard() throws Exception {
        Process process = new ProcessBuilder(
                        "env",
                        "--default-signal=HUP",
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Dlogback.statusListenerClass=ch.qos.logback.core.status.NopStatusListener",
                        "-cp",
                        System.getProperty("java.class.path"),
                        ConfigWatcherTest.class.getName())
                .redirectError(folder.resolve("err").toFile())
                .start();
        try (BufferedReader out = process.inputReader()) {
            assertThat(out.readLine())
                    .as(Files.readString(folder.resolve("err")))
                    .isEqualTo("listening");
            assertThat(new ProcessBuilder("kill", "-HUP", Long.toString(process.pid()))
                            .start()
                            .waitFor())
                    .isZero();
            assertThat(out.readLine()).isEqualTo("hangup");
        } finally {
            process.destroy();
        }
    }

    /** Jars bring layers, which may throw anything. */
    @Test
    void error_doesNotEndTheWatch() throws Exception {
        AtomicBoolean failed = new AtomicBoolean();
        Consumer<String> reload = cause -> {
            if (!failed.getAndSet(true)) {
                loaded.add("failed");
                throw new AssertionError("a fault of a layer");
            }
            load(cause);
        };
        try (ConfigWatcher watch = ConfigWatcher.start(file, reload, false)) {
            watch.requestReload();
            assertThat(loaded.poll(20, TimeUnit.SECONDS)).isEqualTo("failed");
            watch.requestReload();
            assertThat(loaded.poll(20, TimeUnit.SECONDS)).isEqualTo("# first");
        }
    }
}
