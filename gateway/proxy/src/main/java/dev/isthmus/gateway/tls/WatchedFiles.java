package dev.isthmus.gateway.tls;

import dev.isthmus.gateway.settings.SecretFile;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;

/**
 * The content of several files. Changes are detected by content and permissions only: times miss two writes within one
 * clock tick, and a moved symbolic link, which is how Kubernetes replaces the files of a Secret.
 */
record WatchedFiles(List<Path> paths) {
    private static final int MAX_BYTES = 4 << 20;

    WatchedFiles {
        paths = List.copyOf(paths);
    }

    /** A digest of all content and permissions. Blocks. */
    String digest() {
        MessageDigest digest = sha256();
        for (Path path : paths) {
            digest.update(content(path));
            digest.update((byte) 0);
        }
        return HexFormat.of().formatHex(digest.digest());
    }

    private static byte[] content(Path path) {
        try (InputStream in = Files.newInputStream(path)) {
            MessageDigest digest = sha256();
            digest.update(in.readNBytes(MAX_BYTES));
            return digest.digest(String.valueOf(SecretFile.exposure(path)).getBytes(StandardCharsets.UTF_8));
        } catch (IOException e) {
            return e.getClass().getName().getBytes(StandardCharsets.UTF_8);
        }
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java has SHA-256", e);
        }
    }
}
