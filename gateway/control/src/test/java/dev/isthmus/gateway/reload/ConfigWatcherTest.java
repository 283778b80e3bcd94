package dev.isthmus.gateway.reload;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ConfigWatcherTest {
    private static final String TEXT = "{local: {embedded_models: true}, default_upstream: local}";

    @TempDir
    Path folder = Path.of(".");

    private final BlockingQueue<String> loaded = new LinkedBlockingQueue<>();
    private Path path = Path.of(".");
    private ConfigFile file = new ConfigFile(path, config -> config);

    @BeforeEach
    void write() throws Exception {
        path = Files.writeString(folder.resolve("isthmus.yaml"), "# first\n" + TEXT);
        file = new ConfigFile(path, config -> config);
        file.load();
    }

    private void load() {
        try {
            file.load();
            loaded.add(Files.readAllLines(path).get(0));
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
    void asked_withoutPolling_loads() throws Exception {
        try (ConfigWatcher watch = ConfigWatcher.start(file, this::load, false)) {
            watch.requestReload();
            assertThat(loaded.poll(20, TimeUnit.SECONDS)).isEqualTo("# first");
        }
    }

    @Test
    void hangup_isHeard() throws Exception {
        BlockingQueue<String> heard = new LinkedBlockingQueue<>();
        ProcessSignals.onHangup(() -> heard.add("hangup"));
        new ProcessBuilder("kill", "-HUP", Long.toString(ProcessHandle.current().pid()))
                .start()
                .waitFor();
        assertThat(heard.poll(20, TimeUnit.SECONDS)).isEqualTo("hangup");
    }
}
