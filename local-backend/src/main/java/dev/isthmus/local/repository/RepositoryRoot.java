package dev.isthmus.local.repository;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/**
 * The repository's folder; nothing outside it is read. Failures name a file by its path relative to the folder.
 *
 * @param path the canonical path
 */
record RepositoryRoot(Path path) {
    private static final long MAX_CONFIG = 1 << 20;
    /** The maximum size of an array. */
    private static final long MAX_MODEL = Integer.MAX_VALUE - 8;

    private static final long MAX_ENTRIES = 100_000;

    /** @throws OipException if it is not a readable folder */
    static RepositoryRoot of(Path directory) {
        try {
            return new RepositoryRoot(directory.toRealPath());
        } catch (IOException e) {
            throw new OipException(
                    ErrorCode.FAILED_PRECONDITION, "model repository " + directory + " cannot be read", e);
        }
    }

    /** The entries of a folder that are not hidden, sorted by name. */
    List<Path> list(Path folder) {
        try (Stream<Path> children = Files.list(folder)) {
            return children.filter(child -> !child.getFileName().toString().startsWith("."))
                    .limit(MAX_ENTRIES)
                    .sorted()
                    .toList();
        } catch (IOException | UncheckedIOException e) {
            throw unreadable(folder, e);
        }
    }

    /**
     * Resolves the links of a path.
     *
     * @throws OipException if it is outside the repository or does not exist
     */
    Path inside(Path file) {
        try {
            Path real = file.toRealPath();
            if (!real.startsWith(path)) {
                throw new OipException(
                        ErrorCode.FAILED_PRECONDITION,
                        "'" + name(file) + "' is a link that leads out of the repository");
            }
            return real;
        } catch (IOException e) {
            throw unreadable(file, e);
        }
    }

    /** Reads a configuration file. */
    String text(Path file) {
        try {
            return Files.readString(file(file, MAX_CONFIG), StandardCharsets.UTF_8);
        } catch (CharacterCodingException e) {
            throw new OipException(ErrorCode.FAILED_PRECONDITION, "'" + name(file) + "': UTF-8 is expected", e);
        } catch (IOException e) {
            throw unreadable(file, e);
        }
    }

    byte[] bytes(Path file) {
        try {
            Path real = file(file, MAX_MODEL);
            int size = Math.toIntExact(Files.size(real));
            byte[] bytes = HeapMemory.allocate("'" + name(file) + "'", size, () -> new byte[size]);
            try (InputStream in = Files.newInputStream(real)) {
                in.readNBytes(bytes, 0, size);
            }
            return bytes;
        } catch (IOException e) {
            throw unreadable(file, e);
        }
    }

    /** As {@link #inside}, for a file of at most so many bytes. A pipe, which may have no end, is none. */
    private Path file(Path file, long most) throws IOException {
        Path real = inside(file);
        long bytes = Files.size(real);
        boolean regular = Files.isRegularFile(real);
        if (!regular || bytes > most) {
            throw new OipException(
                    ErrorCode.FAILED_PRECONDITION,
                    "'" + name(file) + "': "
                            + (regular
                                    ? "at most " + most + " bytes are expected, got " + bytes
                                    : "a file is expected"));
        }
        return real;
    }

    /** The form of a path in messages to clients. */
    String name(Path file) {
        return file.startsWith(path) ? path.relativize(file).toString() : String.valueOf(file.getFileName());
    }

    private OipException unreadable(Path file, Exception cause) {
        String what = file.equals(path) ? "the model repository" : "'" + name(file) + "'";
        return new OipException(ErrorCode.FAILED_PRECONDITION, what + " cannot be read", cause);
    }
}
