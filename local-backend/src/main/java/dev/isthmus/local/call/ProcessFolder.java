package dev.isthmus.local.call;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The folder that a gateway shares with its process for local models. Only their user can read it.
 *
 * @param path without links to others
 */
public record ProcessFolder(Path path) {
    private static final String PROPERTY = "isthmus.local.process";
    /** A Unix socket's path has at most 107 bytes on Linux, and 103 on macOS. */
    private static final int MAX_SOCKET = 103;

    /** Makes a folder in that of temporary files. */
    public static ProcessFolder create() throws IOException {
        ProcessFolder folder =
                new ProcessFolder(Files.createTempDirectory("isthmus-local-").toAbsolutePath());
        if (folder.socket().toString().length() > MAX_SOCKET) {
            folder.delete();
            throw new IOException("a Unix socket's path has at most " + MAX_SOCKET + " characters, got '"
                    + folder.socket() + "'; set -Djava.io.tmpdir to a shorter one");
        }
        return folder;
    }

    /** The folder of this process, if a gateway has started it for local models; else null. */
    public static @Nullable ProcessFolder ofThisProcess() {
        String given = System.getProperty(PROPERTY);
        return given == null ? null : new ProcessFolder(Path.of(given));
    }

    /** The options of the JVM that tell a process its folder, and what it writes there. */
    public List<String> options() {
        return List.of("-D" + PROPERTY + "=" + path, "-Djava.io.tmpdir=" + temporary(), "-XX:ErrorFile=" + crash());
    }

    /** Its folder for temporary files: a process that crashes leaves the libraries there that it has unpacked. */
    private Path temporary() {
        return path.resolve("tmp");
    }

    /** The socket on which the process listens. */
    public Path socket() {
        return path.resolve("socket");
    }

    /** The configuration of the process. */
    public Path configuration() {
        return path.resolve("isthmus.yaml");
    }

    /** What the JVM writes when it crashes. */
    public Path crash() {
        return path.resolve("crash.log");
    }

    /** See {@link RunningModels}. */
    Path running() {
        return path.resolve("running");
    }

    private Path excluded() {
        return path.resolve("excluded");
    }

    /** Names the models that the process must not load at its start. */
    public void exclude(Collection<String> models) throws IOException {
        Files.write(excluded(), models);
    }

    /** The models that the process must not load at its start, less those that it was told to load since. */
    public List<String> excludedModels() {
        try {
            return Files.readAllLines(excluded());
        } catch (NoSuchFileException e) {
            return List.of();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A model was loaded: it is not excluded any more. */
    public void admit(String model) {
        // Several models may be loaded at a time.
        synchronized (ProcessFolder.class) {
            List<String> left = new ArrayList<>(excludedModels());
            if (left.remove(model)) {
                try {
                    exclude(left);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }
        }
    }

    /** Removes what a process that has ended leaves of itself, before the next one. */
    public void clear() throws IOException {
        for (Path left : List.of(socket(), crash(), running(), temporary())) {
            delete(left);
        }
        Files.createDirectory(temporary());
    }

    /** Removes it, with what is in it, unless the other process has. */
    public void delete() throws IOException {
        delete(path);
    }

    private static void delete(Path all) throws IOException {
        try (Stream<Path> files = Files.exists(all) ? Files.walk(all) : Stream.empty()) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(file);
            }
        }
    }
}
