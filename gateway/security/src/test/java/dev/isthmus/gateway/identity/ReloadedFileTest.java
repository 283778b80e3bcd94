package dev.isthmus.gateway.identity;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.settings.ConfigException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ReloadedFileTest {
    @TempDir
    private Path folder;

    private Path path = Path.of("keys");
    private final List<Boolean> reloads = new ArrayList<>();
    private ReloadedFile<String> file;

    @BeforeEach
    void start() throws Exception {
        path = folder.resolve("keys");
        Files.writeString(path, "one\n");
        file = new ReloadedFile<>(path, ReloadedFileTest::read, reloads::add);
    }

    private static String read(Path path) throws ConfigException {
        try {
            String text = Files.readString(path);
            if (text.startsWith("bad")) {
                throw new ConfigException(List.of(path + ": bad"));
            }
            if (text.startsWith("fault")) {
                throw new IllegalStateException("a fault");
            }
            return text;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void checkTwice() {
        file.check();
        file.check();
    }

    @Test
    void partlyWrittenFile_isNotRead() throws Exception {
        Files.writeString(path, "two\n");
        file.check();
        assertThat(file.current()).isEqualTo("one\n");
        Files.writeString(path, "two\nthree\n");
        file.check();
        assertThat(file.current()).isEqualTo("one\n");
        file.check();
        assertThat(file.current()).isEqualTo("two\nthree\n");
        assertThat(reloads).containsExactly(true);
        checkTwice();
        assertThat(reloads).containsExactly(true);
    }

    @Test
    void badContent_leavesTheLastGoodOne_andIsReadOnce() throws Exception {
        for (String wrong : List.of("bad", "fault")) {
            Files.writeString(path, wrong);
            checkTwice();
            checkTwice();
            assertThat(file.current()).isEqualTo("one\n");
        }
        assertThat(reloads).containsExactly(false, false);
        Files.writeString(path, "two\n");
        checkTwice();
        assertThat(file.current()).isEqualTo("two\n");
    }
}
