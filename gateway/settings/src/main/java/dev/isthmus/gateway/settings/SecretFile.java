package dev.isthmus.gateway.settings;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Checks the permissions of a file with a secret: only its owner may write it, and only its owner and group may read
 * it. The group may, because a Kubernetes Secret belongs to root and is read through its group ({@code fsGroup}).
 */
public final class SecretFile {
    private static final int PERMISSIONS = 0777;
    private static final int GROUP_WRITES = 0020;
    private static final int OTHERS_READ = 0004;
    private static final int OTHERS_WRITE = 0002;

    private SecretFile() {}

    /** What a file's permissions are checked for. */
    interface PermissionCheck {
        @Nullable
        String problem(Path file) throws IOException;
    }

    /** The problem with a file that is read: "cannot be read"; null if there is none. Blocks. */
    static @Nullable String problem(Path file, PermissionCheck permissions) {
        try {
            return !Files.isReadable(file)
                    ? "cannot be read"
                    : Files.isRegularFile(file) ? permissions.problem(file) : "is not a file";
        } catch (IOException e) {
            return "cannot be read";
        }
    }

    /**
     * The problem with a file's permissions: "has mode 644: …". Follows symbolic links. Blocks.
     *
     * @return null if there is none, or if the file system has no POSIX permissions
     */
    public static @Nullable String exposure(Path file) throws IOException {
        int mode = mode(file);
        String who = who(mode);
        return who == null
                ? null
                : "has mode " + String.format(Locale.ROOT, "%03o", mode) + ": " + who
                        + " it; only its owner is expected to write it, and its owner and group to read it: chmod 600";
    }

    /**
     * The problem with the permissions of a file that is not secret but trusted: others can write it. As {@link
     * #exposure}.
     */
    public static @Nullable String forgeable(Path file) throws IOException {
        int mode = mode(file);
        return (mode & OTHERS_WRITE) == 0
                ? null
                : "has mode " + String.format(Locale.ROOT, "%03o", mode) + ": others can write it; chmod o-w";
    }

    private static @Nullable String who(int mode) {
        if ((mode & OTHERS_WRITE) != 0) {
            return "others can write";
        }
        if ((mode & OTHERS_READ) != 0) {
            return "others can read";
        }
        return (mode & GROUP_WRITES) != 0 ? "its group can write" : null;
    }

    /** Of the mode's bits, those for permissions; none if the file system has no POSIX permissions. */
    private static int mode(Path file) throws IOException {
        return file.getFileSystem().supportedFileAttributeViews().contains("unix")
                ? (int) Files.getAttribute(file, "unix:mode") & PERMISSIONS
                : 0;
    }
}
