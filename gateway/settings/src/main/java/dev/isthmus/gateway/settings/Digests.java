package dev.isthmus.gateway.settings;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** Digests of functions that every Java has. */
public final class Digests {
    /** The function for all that is not given. */
    public static final String SHA_256 = "SHA-256";

    private Digests() {}

    public static MessageDigest of(String function) {
        try {
            return MessageDigest.getInstance(function);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java has " + function, e);
        }
    }

    /** The digest of a text's UTF-8. */
    public static byte[] of(String function, String text) {
        return of(function).digest(text.getBytes(StandardCharsets.UTF_8));
    }

    /** The same in hexadecimal. */
    public static String hex(String function, String text) {
        return HexFormat.of().formatHex(of(function, text));
    }
}
