package dev.isthmus.gateway.admin;

import dev.isthmus.gateway.settings.SecretFile;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The token required for changes and diagnosis, and beyond loopback for reading. Its file is read for each of them, so
 * that the file and its permissions can be changed at any time.
 */
final class AdminToken {
    private static final String SCHEME = "Bearer ";
    private static final int MAX_BYTES = 4096;
    private static final String DIAGNOSIS = "/debug/";
    private static final Set<String> PROBES = Set.of("/live", "/ready");
    /** The console's page, and where a browser gives the token. */
    private static final Set<String> OPEN = Set.of("/", AdminSessions.PATH, AdminSessions.END_PATH);
    /** The console's scripts and styles, which are the same in every gateway. */
    private static final String FILES = "/console/files/";

    private final @Nullable Path file;
    private final boolean reads;

    /**
     * The token of an address.
     *
     * @param file null rejects all changes, and diagnosis
     * @param reads whether requests that change nothing need it, too
     */
    AdminToken(@Nullable Path file, boolean reads) {
        this.file = file;
        this.reads = reads;
    }

    /** Whether a request needs it: one that changes something, diagnoses, or reads more than a probe does. */
    boolean isNeeded(boolean changes, String path) {
        if (OPEN.contains(path) || (!changes && path.startsWith(FILES))) {
            return false;
        }
        return changes || path.startsWith(DIAGNOSIS) || (reads && !PROBES.contains(path));
    }

    /** Whether requests that change nothing need it, too. */
    boolean guardsReading() {
        return reads;
    }

    boolean isConfigured() {
        return file != null;
    }

    /** @throws OipException PERMISSION_DENIED if there is no token, so that nothing that needs it is possible */
    void requireConfigured() {
        if (file == null) {
            throw new OipException(
                    ErrorCode.PERMISSION_DENIED,
                    "changes and diagnosis are disabled: admin.token_file is not configured; set it to a file with the"
                            + " token that they require");
        }
    }

    /**
     * The token of a header field {@code Authorization}.
     *
     * @throws OipException UNAUTHENTICATED if it has none
     */
    static String bearer(String authorization) {
        if (!authorization.regionMatches(true, 0, SCHEME, 0, SCHEME.length())) {
            throw new OipException(
                    ErrorCode.UNAUTHENTICATED, "header Authorization: 'Bearer' followed by the token is expected");
        }
        return authorization.substring(SCHEME.length()).strip();
    }

    /**
     * Whether this is the token; false if there is none. Reads a file, and takes the same time for every wrong one.
     *
     * @throws OipException UNAVAILABLE if the file cannot be used
     */
    boolean is(String given) {
        return file != null && MessageDigest.isEqual(token(file), given.getBytes(StandardCharsets.ISO_8859_1));
    }

    private static byte[] token(Path file) {
        try (InputStream in = Files.newInputStream(file)) {
            String exposure = SecretFile.exposure(file);
            if (exposure != null) {
                throw new OipException(ErrorCode.UNAVAILABLE, "the file admin.token_file " + exposure);
            }
            String token = new String(in.readNBytes(MAX_BYTES), StandardCharsets.ISO_8859_1).strip();
            if (token.isEmpty()) {
                throw new OipException(ErrorCode.UNAVAILABLE, "the file admin.token_file is empty");
            }
            return token.getBytes(StandardCharsets.ISO_8859_1);
        } catch (IOException e) {
            throw new OipException(ErrorCode.UNAVAILABLE, "the file admin.token_file cannot be read", e);
        }
    }
}
