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
import org.jspecify.annotations.Nullable;

/** The token that changes need. Its file is read at each of them, so that it can be replaced, and its permissions with it. */
final class AdminToken {
    private static final String SCHEME = "Bearer ";
    private static final int MOST = 4096;

    private final @Nullable Path file;

    /** @param file null refuses all changes */
    AdminToken(@Nullable Path file) {
        this.file = file;
    }

    /**
     * Checks a request that changes something. Reads a file.
     *
     * @param authorization the header's value, if there is one
     * @throws OipException where it may not
     */
    void require(@Nullable String authorization) {
        if (file == null) {
            throw new OipException(
                    ErrorCode.PERMISSION_DENIED,
                    "nothing can be changed here: the configuration has no admin.token_file, which names the file of the"
                            + " token that changes need");
        }
        if (authorization == null || !authorization.regionMatches(true, 0, SCHEME, 0, SCHEME.length())) {
            throw new OipException(
                    ErrorCode.UNAUTHENTICATED, "header Authorization: 'Bearer' and the token are expected");
        }
        byte[] given = authorization.substring(SCHEME.length()).strip().getBytes(StandardCharsets.ISO_8859_1);
        if (!MessageDigest.isEqual(token(file), given)) {
            throw new OipException(ErrorCode.UNAUTHENTICATED, "header Authorization: this is not the token");
        }
    }

    private static byte[] token(Path file) {
        try (InputStream in = Files.newInputStream(file)) {
            String exposure = SecretFile.exposure(file);
            if (exposure != null) {
                throw new OipException(ErrorCode.UNAVAILABLE, "the file admin.token_file " + exposure);
            }
            String token = new String(in.readNBytes(MOST), StandardCharsets.ISO_8859_1).strip();
            if (token.isEmpty()) {
                throw new OipException(ErrorCode.UNAVAILABLE, "the file admin.token_file is empty");
            }
            return token.getBytes(StandardCharsets.ISO_8859_1);
        } catch (IOException e) {
            throw new OipException(ErrorCode.UNAVAILABLE, "the file admin.token_file cannot be read", e);
        }
    }
}
