package dev.isthmus.gateway.reload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.gateway.settings.ConfigException;
import dev.isthmus.gateway.settings.Listener;
import dev.isthmus.gateway.settings.WatchedFiles.FileChange;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

class ConfigFileTest {
    private static final String GOOD = "{local: {embedded_models: true}, default_upstream: local}";
    private static final String OTHER = "{local: {embedded_models: true}, models: {simple: {upstream: local}}}";

    @TempDir
    Path folder = Path.of(".");

    private Path path = Path.of(".");
    private ConfigFile file = new ConfigFile(List.of(path), config -> config);

    @BeforeEach
    void load() throws Exception {
        path = Files.writeString(folder.resolve("isthmus.yaml"), GOOD);
        file = new ConfigFile(List.of(path), config -> config);
        file.load();
    }

    private void expectChange() throws ConfigException {
        assertThat(file.check()).isEqualTo(FileChange.UNSETTLED);
        assertThat(file.check()).isEqualTo(FileChange.CHANGED);
        file.load();
        assertThat(file.check()).isEqualTo(FileChange.SAME);
    }

    @Test
    void unchanged_isSeenSo() {
        assertThat(file.check()).isEqualTo(FileChange.SAME);
        assertThat(file.check()).isEqualTo(FileChange.SAME);
    }

    @Test
    void writtenInPlace_withSizeAndTimeKept_isSeen() throws Exception {
        FileTime time = Files.getLastModifiedTime(path);
        Files.writeString(path, GOOD.replace("embedded_models: true", "embedded_models: TRUE"));
        Files.setLastModifiedTime(path, time);
        assertThat(file.check()).isEqualTo(FileChange.UNSETTLED);
        assertThat(file.check()).isEqualTo(FileChange.CHANGED);
    }

    @Test
    void renamedOver_isSeen() throws Exception {
        Path fresh = Files.writeString(folder.resolve("fresh"), OTHER);
        Files.move(fresh, path, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        expectChange();
    }

    /** As {@code --config <(command)} is: what it has can be read once. */
    @Test
    @Timeout(value = 20, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void pipe_isReadByALoadOnly() throws Exception {
        Path pipe = folder.resolve("pipe");
        assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor())
                .isZero();
        Process writer = new ProcessBuilder("cp", path.toString(), pipe.toString()).start();
        file = new ConfigFile(List.of(pipe), config -> config);
        assertThat(file.load().local()).isNotNull();
        assertThat(writer.waitFor()).isZero();
        assertThat(file.check()).isEqualTo(FileChange.SAME);
    }

    @Test
    void linkOfAFolderMoved_asKubernetesDoes_isSeen() throws Exception {
        Path first = Files.createDirectory(folder.resolve("..1"));
        Path second = Files.createDirectory(folder.resolve("..2"));
        Files.writeString(first.resolve("mounted.yaml"), GOOD);
        Files.writeString(second.resolve("mounted.yaml"), OTHER);
        Path data = Files.createSymbolicLink(folder.resolve("..data"), first.getFileName());
        Path mounted = Files.createSymbolicLink(folder.resolve("mounted.yaml"), Path.of("..data", "mounted.yaml"));
        file = new ConfigFile(List.of(mounted), config -> config);
        file.load();
        assertThat(file.check()).isEqualTo(FileChange.SAME);

        Path moving = Files.createSymbolicLink(folder.resolve("..data_tmp"), second.getFileName());
        Files.move(moving, data, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        expectChange();
    }

    @Test
    void beingWritten_isNotLoadedYet() throws Exception {
        Files.writeString(path, OTHER.substring(0, 20));
        assertThat(file.check()).isEqualTo(FileChange.UNSETTLED);
        Files.writeString(path, OTHER);
        expectChange();
    }

    @Test
    void broken_isLoadedOnceForItsContent() throws Exception {
        Files.writeString(path, "{modles");
        assertThat(file.check()).isEqualTo(FileChange.UNSETTLED);
        assertThat(file.check()).isEqualTo(FileChange.CHANGED);
        assertThatThrownBy(file::load).isInstanceOf(ConfigException.class);
        assertThat(file.check()).isEqualTo(FileChange.SAME);
        Files.writeString(path, GOOD);
        expectChange();
    }

    @Test
    void removed_isAChangeOnce_andSoIsItsReturn() throws Exception {
        Files.delete(path);
        assertThat(file.check()).isEqualTo(FileChange.UNSETTLED);
        assertThat(file.check()).isEqualTo(FileChange.CHANGED);
        assertThatThrownBy(file::load).isInstanceOf(ConfigException.class);
        assertThat(file.check()).isEqualTo(FileChange.SAME);
        Files.writeString(path, GOOD);
        expectChange();
    }

    @Test
    void removedForAMoment_isNoChange() throws Exception {
        Files.delete(path);
        assertThat(file.check()).isEqualTo(FileChange.UNSETTLED);
        Files.writeString(path, GOOD);
        assertThat(file.check()).isEqualTo(FileChange.SAME);
    }

    @Test
    void removed_loadedAllTheSame_isAProblem() throws IOException {
        Files.delete(path);
        assertThatThrownBy(file::load).isInstanceOf(ConfigException.class).hasMessageContaining("cannot be read");
    }

    @Test
    void overrides_arePutOverEachLoad() throws Exception {
        Listener other = Listener.DEFAULT.at("127.0.0.1", 0);
        file = new ConfigFile(List.of(path), config -> config.withListener(other));
        assertThat(file.load().listeners()).containsExactly(other);
    }

    @Test
    void fileOfAValue_isWatched() throws Exception {
        Path value = Files.writeString(folder.resolve("name"), "local\n");
        Files.writeString(path, GOOD.replace("upstream: local", "upstream: '${file:name}'"));
        expectChange();
        Files.writeString(value, "local");
        expectChange();
        Files.writeString(value, "other");
        assertThat(file.check()).isEqualTo(FileChange.UNSETTLED);
        assertThat(file.check()).isEqualTo(FileChange.CHANGED);
        assertThatThrownBy(file::load).isInstanceOf(ConfigException.class);
        assertThat(file.check()).isEqualTo(FileChange.SAME);
        Files.writeString(value, "local");
        expectChange();
    }

    @Test
    void fileOfAValue_thatIsMissing_isLoadedWhenItIsThere() throws Exception {
        Files.writeString(path, GOOD.replace("upstream: local", "upstream: '${file:name}'"));
        assertThat(file.check()).isEqualTo(FileChange.UNSETTLED);
        assertThat(file.check()).isEqualTo(FileChange.CHANGED);
        assertThatThrownBy(file::load).isInstanceOf(ConfigException.class).hasMessageContaining("no such file");
        assertThat(file.check()).isEqualTo(FileChange.SAME);
        Files.writeString(folder.resolve("name"), "local");
        expectChange();
    }

    @Test
    void fileThatNoValueRefersToAnyMore_isNotWatched() throws Exception {
        Path value = Files.writeString(folder.resolve("name"), "local");
        Files.writeString(path, GOOD.replace("upstream: local", "upstream: '${file:name}'"));
        expectChange();
        Files.writeString(path, GOOD);
        expectChange();
        Files.writeString(value, "other");
        assertThat(file.check()).isEqualTo(FileChange.SAME);
    }

    @Test
    void filesOfAFolder_areWatched_addedAndRemovedOnesToo() throws Exception {
        Path parts = Files.createDirectory(folder.resolve("parts"));
        file = new ConfigFile(List.of(path, parts), config -> config);
        assertThatThrownBy(file::load).isInstanceOf(ConfigException.class).hasMessageContaining("got none");
        assertThat(file.check()).isEqualTo(FileChange.SAME);

        Path added = Files.writeString(parts.resolve("a.yaml"), "models: {simple: {upstream: local}}");
        expectChange();
        Files.writeString(parts.resolve("b.yaml"), "models: {digits: {upstream: local}}");
        expectChange();
        assertThat(file.load().models()).containsOnlyKeys("simple", "digits");
        Files.writeString(parts.resolve("notes.txt"), "");
        assertThat(file.check()).isEqualTo(FileChange.SAME);
        Files.writeString(added, "models: {simple: {upstream: local, timeout: 3s}}");
        expectChange();
        Files.delete(added);
        expectChange();
        assertThat(file.load().models()).containsOnlyKeys("digits");
        assertThat(file.keys().paths()).contains(List.of("models", "digits"), List.of("default_upstream"));
    }

    /** The state of ramps is beside the first one. */
    @Test
    void severalFiles_areOneConfiguration() throws Exception {
        Path more = Files.writeString(folder.resolve("more.yaml"), "models: {simple: {upstream: local}}");
        file = new ConfigFile(List.of(path, more), config -> config);
        assertThat(file.load().models()).containsOnlyKeys("simple");
        assertThat(file.load().ramps().stateFile()).isEqualTo(folder.resolve("isthmus.ramps.json"));
    }
}
