package dev.isthmus.gateway.admin;

import dev.isthmus.gateway.settings.AdminConfig;
import dev.isthmus.gateway.settings.AdminConfig.AdminRole;
import dev.isthmus.gateway.settings.SecretFile;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The tokens of the admin address. Their files are read for each request that needs one, so that a file and its
 * permissions can be changed at any time.
 */
final class AdminTokens {
    private static final String SCHEME = "Bearer ";
    private static final int MAX_BYTES = 4096;

    /** Those of the least role first, so that it holds if two files have the same token. */
    private final List<TokenFile> files;

    /** @param key of the configuration */
    private record TokenFile(Operator operator, Path file, String key) {}

    AdminTokens(AdminConfig config) {
        List<TokenFile> all = new ArrayList<>();
        if (config.tokenFile() != null) {
            all.add(new TokenFile(
                    new Operator(AdminConfig.ADMIN, AdminRole.ADMIN, ""), config.tokenFile(), "admin.token_file"));
        }
        config.tokens()
                .forEach((name, token) -> all.add(new TokenFile(
                        new Operator(name, token.role(), ""), token.file(), "admin.tokens." + name + ".file")));
        all.sort(Comparator.comparing((TokenFile each) -> each.operator().role())
                .thenComparing(each -> each.operator().name()));
        files = List.copyOf(all);
    }

    boolean areConfigured() {
        return !files.isEmpty();
    }

    /** @throws OipException PERMISSION_DENIED if there is no token, so that nothing that needs one is possible */
    void requireConfigured() {
        if (files.isEmpty()) {
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
     * Whose token this is; null if it is nobody's. Reads files, and takes the same time for every wrong one.
     *
     * @throws OipException UNAVAILABLE if it is not in the files that can be used, and one cannot be used
     */
    @Nullable
    Operator holder(String given) {
        Operator found = null;
        OipException unusable = null;
        for (TokenFile each : files) {
            try {
                boolean same = is(each, given);
                found = same && found == null ? each.operator() : found;
            } catch (OipException e) {
                unusable = e;
            }
        }
        if (found == null && unusable != null) {
            throw unusable;
        }
        return found;
    }

    /** Whether this is still an operator's token. As {@link #holder}. */
    boolean holds(Operator operator, String given) {
        return files.stream().anyMatch(each -> each.operator().equals(operator) && is(each, given));
    }

    private static boolean is(TokenFile token, String given) {
        return MessageDigest.isEqual(read(token), given.getBytes(StandardCharsets.ISO_8859_1));
    }

    private static byte[] read(TokenFile token) {
        try (InputStream in = Files.newInputStream(token.file())) {
            String exposure = SecretFile.exposure(token.file());
            if (exposure != null) {
                throw new OipException(ErrorCode.UNAVAILABLE, "the file " + token.key() + " " + exposure);
            }
            String text = new String(in.readNBytes(MAX_BYTES), StandardCharsets.ISO_8859_1).strip();
            if (text.isEmpty()) {
                throw new OipException(ErrorCode.UNAVAILABLE, "the file " + token.key() + " is empty");
            }
            return text.getBytes(StandardCharsets.ISO_8859_1);
        } catch (IOException e) {
            throw new OipException(ErrorCode.UNAVAILABLE, "the file " + token.key() + " cannot be read", e);
        }
    }
}
