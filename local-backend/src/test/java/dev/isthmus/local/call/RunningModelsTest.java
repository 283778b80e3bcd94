package dev.isthmus.local.call;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.local.call.RunningModels.RunningModel;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RunningModelsTest {
    private static final int FILE_BYTES = 1 << 20;

    @TempDir
    Path temporary;

    private void write(String record) throws IOException {
        byte[] text = record.getBytes(StandardCharsets.UTF_8);
        byte[] file = new byte[512];
        ByteBuffer.wrap(file).putInt(text.length).put(text);
        Files.write(temporary.resolve("running"), file);
    }

    @Test
    void processThatEndsBeforeItBegins_ranNothing() throws Exception {
        ProcessFolder folder = new ProcessFolder(temporary);
        write("isthmus-local-1\nm");
        assertThat(RunningModels.at(folder)).containsExactly(new RunningModel("isthmus-local-1", "m"));
        folder.clear();
        assertThat(RunningModels.at(folder)).isEmpty();
    }

    @Test
    void file_hasItsBlocks_beforeItIsMapped() throws Exception {
        ProcessFolder folder = new ProcessFolder(temporary);
        assertThat(RunningModels.in(folder)).isNotNull();
        Process sizes = new ProcessBuilder("du", "-k", folder.running().toString()).start();
        String kibibytes = new String(sizes.getInputStream().readAllBytes(), StandardCharsets.UTF_8).split("\\s", 2)[0];
        assertThat(Integer.parseInt(kibibytes)).isGreaterThanOrEqualTo(FILE_BYTES >> 10);
        assertThat(RunningModels.at(folder)).isEqualTo(List.of());
    }

    @Test
    void folderThatTakesNothing_isDoneWithout() {
        assertThat(RunningModels.in(new ProcessFolder(temporary.resolve("missing"))))
                .isNull();
        assertThat(RunningModels.in(null)).isNull();
    }
}
