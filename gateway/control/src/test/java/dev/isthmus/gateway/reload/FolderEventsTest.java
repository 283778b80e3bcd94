package dev.isthmus.gateway.reload;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FolderEventsTest {
    private final Semaphore happened = new Semaphore(0);

    @TempDir
    Path folder = Path.of(".");

    private boolean hears() throws InterruptedException {
        return happened.tryAcquire(30, TimeUnit.SECONDS);
    }

    @Test
    void everyKindOfReplacement_isHeard() throws Exception {
        Path file = Files.writeString(folder.resolve("isthmus.yaml"), "a");
        try (FolderEvents events = new FolderEvents(happened::release)) {
            events.watch(List.of(file));
            Files.writeString(file, "b");
            assertThat(hears()).isTrue();
        }
        try (FolderEvents events = new FolderEvents(happened::release)) {
            Path other = Files.writeString(folder.resolve("new"), "c");
            events.watch(List.of(file));
            happened.drainPermits();
            Files.move(other, file, StandardCopyOption.REPLACE_EXISTING);
            assertThat(hears()).isTrue();
        }
    }

    /** As Kubernetes replaces the files of a ConfigMap. */
    @Test
    void linkOfItsFolder_isHeard() throws Exception {
        Files.writeString(Files.createDirectory(folder.resolve("..1")).resolve("isthmus.yaml"), "a");
        Files.writeString(Files.createDirectory(folder.resolve("..2")).resolve("isthmus.yaml"), "b");
        Files.createSymbolicLink(folder.resolve("..data"), Path.of("..1"));
        Path file = Files.createSymbolicLink(folder.resolve("isthmus.yaml"), Path.of("..data/isthmus.yaml"));
        Path next = Files.createSymbolicLink(folder.resolve("..next"), Path.of("..2"));
        try (FolderEvents events = new FolderEvents(happened::release)) {
            events.watch(List.of(file));
            Files.move(next, folder.resolve("..data"), StandardCopyOption.REPLACE_EXISTING);
            assertThat(hears()).isTrue();
            assertThat(file).hasContent("b");
        }
    }

    @Test
    void otherFolders_areWatchedInstead() throws Exception {
        Path one = Files.createDirectory(folder.resolve("one")).resolve("isthmus.yaml");
        Path two = Files.createDirectory(folder.resolve("two")).resolve("isthmus.yaml");
        try (FolderEvents events = new FolderEvents(happened::release)) {
            events.watch(List.of(one));
            events.watch(List.of(two, folder.resolve("missing/isthmus.yaml")));
            Files.writeString(one, "a");
            Files.writeString(two, "b");
            assertThat(hears()).isTrue();
        }
    }

    @Test
    void otherFilesOfTheFolder_areNotHeard() throws Exception {
        Path file = folder.resolve("isthmus.yaml");
        try (FolderEvents events = new FolderEvents(happened::release)) {
            events.watch(List.of(file));
            for (int i = 0; i < 20; i++) {
                Files.writeString(folder.resolve("access.log"), "line " + i);
            }
            Files.createDirectory(folder.resolve("others"));
            // Events come in their order: those before would have been heard.
            Files.createFile(file);
            assertThat(hears()).isTrue();
            assertThat(happened.availablePermits()).isZero();
        }
    }
}
