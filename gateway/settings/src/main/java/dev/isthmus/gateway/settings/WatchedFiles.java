package dev.isthmus.gateway.settings;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.List;
import java.util.function.Supplier;

/**
 * Files that are read again when they change. Changes are detected by content only: modification time and size miss two
 * writes within one clock tick, and a moved symbolic link, which is how Kubernetes replaces the files of a Secret.
 * Thread-safe; blocks.
 */
public final class WatchedFiles {
    /** What to do after a check. */
    public enum FileChange {
        /** Nothing: the content is the one last loaded. */
        SAME,
        /** Check again soon: a file may be partly written. */
        UNSETTLED,
        /** Load the files. */
        CHANGED
    }

    /** Bytes read from a file; a valid one is smaller. */
    private static final int MAX_BYTES = 16 << 20;

    private static final int PART_BYTES = 8 << 10;

    private final Supplier<List<Path>> paths;
    private final boolean permissions;
    private String loaded = "";
    private String lastSeen = "";

    /**
     * @param paths of the files; another list is a change, too
     * @param permissions whether a change of permissions counts: those of a secret decide whether it may be used
     */
    public WatchedFiles(Supplier<List<Path>> paths, boolean permissions) {
        this.paths = paths;
        this.permissions = permissions;
    }

    /** The files are about to be loaded: anything written from now on is a change. */
    public synchronized void loading() {
        loaded = digest();
        lastSeen = "";
    }

    /**
     * Checks the files. They have changed if two consecutive checks found the same content that is not loaded; becoming
     * unreadable is a change, too.
     */
    public synchronized FileChange check() {
        String digest = digest();
        if (digest.equals(loaded)) {
            lastSeen = "";
            return FileChange.SAME;
        }
        boolean settled = digest.equals(lastSeen);
        lastSeen = settled ? "" : digest;
        return settled ? FileChange.CHANGED : FileChange.UNSETTLED;
    }

    /** Whether the content is another one than that last loaded, settled or not. */
    public synchronized boolean differ() {
        return !digest().equals(loaded);
    }

    private String digest() {
        MessageDigest all = Digests.of(Digests.SHA_256);
        for (Path path : paths.get()) {
            all.update(bytes(path + "\n"));
            // What a pipe has can be read once, by the one who loads it.
            all.update(Files.isRegularFile(path) ? content(path) : bytes("no file"));
        }
        return HexFormat.of().formatHex(all.digest());
    }

    /** A digest of one file, or of the reason why it cannot be read. */
    private byte[] content(Path path) {
        MessageDigest digest = Digests.of(Digests.SHA_256);
        try (InputStream in = Files.newInputStream(path)) {
            // In small parts: a large file, read several times a second, would fill the heap.
            byte[] part = new byte[PART_BYTES];
            int left = MAX_BYTES;
            for (int read; (read = in.read(part, 0, Math.min(part.length, left))) > 0; left -= read) {
                digest.update(part, 0, read);
            }
            return digest.digest(permissions ? bytes(String.valueOf(SecretFile.exposure(path))) : new byte[0]);
        } catch (IOException e) {
            return digest.digest(bytes("unreadable: " + e));
        }
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
