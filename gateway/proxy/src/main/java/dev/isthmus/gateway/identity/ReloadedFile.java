package dev.isthmus.gateway.identity;

import dev.isthmus.gateway.settings.ConfigException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The content of a file, read again when the file changes; also when a symbolic link to it does, as in a Kubernetes
 * Secret. What cannot be read leaves the last good content in effect.
 *
 * @param <T> the content
 */
final class ReloadedFile<T> {
    private static final Logger LOG = LoggerFactory.getLogger(ReloadedFile.class);

    private final Path file;
    private final FileReader<T> reader;
    private final ReloadListener listener;
    private FileState seen;
    private volatile T current;

    /** Reads the content of a file. */
    @FunctionalInterface
    interface FileReader<T> {
        T read(Path file) throws ConfigException;
    }

    /** Told of each reload. */
    @FunctionalInterface
    interface ReloadListener {
        void reloaded(boolean applied);
    }

    /**
     * What differs when a file was written.
     *
     * @param changed when anything of it changed, its time of modification included; null if the file system does not
     *     say
     */
    private record FileState(
            long size,
            long modifiedNanos,
            @Nullable Object key,
            @Nullable Object changed) {
        static final FileState NONE = new FileState(-1, 0, null, null);

        static FileState of(Path file) {
            try {
                BasicFileAttributes attributes = Files.readAttributes(file, BasicFileAttributes.class);
                return new FileState(
                        attributes.size(),
                        attributes.lastModifiedTime().to(TimeUnit.NANOSECONDS),
                        attributes.fileKey(),
                        changed(file));
            } catch (IOException e) {
                return NONE;
            }
        }

        private static @Nullable Object changed(Path file) throws IOException {
            return file.getFileSystem().supportedFileAttributeViews().contains("unix")
                    ? Files.getAttribute(file, "unix:ctime")
                    : null;
        }
    }

    /**
     * Reads the file. Blocks.
     *
     * @throws ConfigException if it cannot be read
     */
    ReloadedFile(Path file, FileReader<T> reader, ReloadListener listener) throws ConfigException {
        this.file = file;
        this.reader = reader;
        this.listener = listener;
        this.seen = FileState.of(file);
        this.current = reader.read(file);
    }

    T current() {
        return current;
    }

    /** Reads the file again if it has changed. Called by one thread; blocks. */
    void check() {
        FileState now = FileState.of(file);
        if (Objects.equals(now, seen)) {
            return;
        }
        seen = now;
        try {
            current = reader.read(file);
            listener.reloaded(true);
            LOG.info("{} was read again", file);
        } catch (ConfigException e) {
            listener.reloaded(false);
            LOG.error(
                    "{} is refused, the last good content stays in effect: {}", file, String.join("; ", e.problems()));
        }
    }
}
