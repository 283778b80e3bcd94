package dev.isthmus.bench.process;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import org.jspecify.annotations.Nullable;

/** A temporary folder, deleted when closed or when this program is terminated. */
public final class Scratch implements AutoCloseable {
    private final Path folder;
    private final Thread hook = new Thread(this::deleteQuietly, "bench-scratch");

    public Scratch() throws IOException {
        folder = Files.createTempDirectory("isthmus-bench");
        Runtime.getRuntime().addShutdownHook(hook);
    }

    public Path folder() {
        return folder;
    }

    private void deleteQuietly() {
        try {
            delete();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void delete() throws IOException {
        Files.walkFileTree(folder, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                Files.delete(file);
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path emptied, @Nullable IOException problem) throws IOException {
                Files.delete(emptied);
                return FileVisitResult.CONTINUE;
            }
        });
    }

    @Override
    public void close() throws IOException {
        Runtime.getRuntime().removeShutdownHook(hook);
        delete();
    }
}
