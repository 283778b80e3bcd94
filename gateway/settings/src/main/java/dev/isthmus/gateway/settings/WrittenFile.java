package dev.isthmus.gateway.settings;

import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** Checks where a file is written: it is opened much later, and what cannot be written is lost. */
final class WrittenFile {
    private WrittenFile() {}

    /** Why a file cannot be written: "the folder of /var/log/a/b does not exist"; null if it can. Blocks. */
    static @Nullable String problem(Path file) {
        if (Files.isDirectory(file)) {
            return "a file is expected, got the folder " + file;
        }
        if (Files.exists(file)) {
            return Files.isWritable(file) ? null : file + " cannot be written";
        }
        Path folder = file.toAbsolutePath().getParent();
        if (folder == null || !Files.exists(folder)) {
            return "the folder of " + file + " does not exist";
        }
        if (!Files.isDirectory(folder)) {
            return folder + " is not a folder";
        }
        return Files.isWritable(folder) ? null : "the folder of " + file + " cannot be written";
    }
}
