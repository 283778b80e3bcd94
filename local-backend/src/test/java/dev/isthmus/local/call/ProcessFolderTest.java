package dev.isthmus.local.call;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ProcessFolderTest {
    @TempDir
    Path temporary;

    private ProcessFolder folder() throws Exception {
        return new ProcessFolder(Files.createDirectory(temporary.resolve("folder")));
    }

    /** The folder for temporary files that a process is given. */
    private static Path ofTheProcess(ProcessFolder folder) {
        String option = "-Djava.io.tmpdir=";
        return folder.options().stream()
                .filter(each -> each.startsWith(option))
                .map(each -> Path.of(each.substring(option.length())))
                .findFirst()
                .orElseThrow();
    }

    private static void unpackLibraries(Path into) throws Exception {
        Files.createFile(
                Files.createDirectory(into.resolve("onnxruntime-java1")).resolve("libonnxruntime.so"));
    }

    @Test
    void librariesOfAProcessThatCrashed_areRemovedBeforeTheNext() throws Exception {
        ProcessFolder folder = folder();
        folder.clear();
        unpackLibraries(ofTheProcess(folder));
        folder.clear();
        assertThat(ofTheProcess(folder)).isEmptyDirectory().startsWith(folder.path());
    }

    @Test
    void folder_isRemovedWithAllThatIsInIt() throws Exception {
        ProcessFolder folder = folder();
        folder.clear();
        unpackLibraries(ofTheProcess(folder));
        folder.delete();
        assertThat(folder.path()).doesNotExist();
        folder.delete();
    }
}
