package dev.isthmus.gateway.identity;

import dev.isthmus.gateway.settings.ConfigException;
import dev.isthmus.gateway.settings.WatchedFiles;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The content of a file, read again when the file has changed. What cannot be read leaves the last good content in
 * effect.
 *
 * @param <T> the content
 */
final class ReloadedFile<T> {
    private static final Logger LOG = LoggerFactory.getLogger(ReloadedFile.class);

    private final Path file;
    private final WatchedFiles watched;
    private final FileReader<T> reader;
    private final Consumer<Boolean> listener;
    private volatile T current;

    @FunctionalInterface
    interface FileReader<T> {
        T read(Path file) throws ConfigException;
    }

    /**
     * Reads the file. Blocks.
     *
     * @param listener told of each reload, whether it was applied
     * @throws ConfigException if it cannot be read
     */
    ReloadedFile(Path file, FileReader<T> reader, Consumer<Boolean> listener) throws ConfigException {
        this.file = file;
        this.reader = reader;
        this.listener = listener;
        watched = new WatchedFiles(() -> List.of(file), true);
        watched.loading();
        current = reader.read(file);
    }

    T current() {
        return current;
    }

    /** Reads the file again if it has changed and is complete, as two consecutive checks see it. Blocks. */
    void check() {
        if (watched.check() != WatchedFiles.FileChange.CHANGED) {
            return;
        }
        watched.loading();
        try {
            current = reader.read(file);
            listener.accept(true);
            LOG.atInfo().addKeyValue("file", file).log("{} was read again", file);
        } catch (ConfigException e) {
            refused(String.join("; ", e.problems()));
        } catch (RuntimeException fault) {
            // An executor repeats no task that has thrown.
            refused(fault.toString());
        }
    }

    private void refused(String why) {
        listener.accept(false);
        LOG.atError()
                .addKeyValue("file", file)
                .log("{} is refused, the last good content stays in effect; correct it: {}", file, why);
    }
}
