package dev.isthmus.gateway.identity;

import io.netty.util.concurrent.FastThreadLocal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.DigestException;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/**
 * The SHA-256 of a text, as a key of maps. Secrets are looked up by it: how long a look-up takes tells nothing of them,
 * since nobody can choose a digest.
 */
record Sha256Digest(long a, long b, long c, long d) {
    /** Length in bytes. */
    static final int BYTES = 32;

    private static final FastThreadLocal<Digester> DIGESTERS = new FastThreadLocal<>() {
        @Override
        protected Digester initialValue() {
            return new Digester();
        }
    };

    private static final class Digester {
        private final MessageDigest digest = sha256();
        private final byte[] bytes = new byte[BYTES];
        private final ByteBuffer view = ByteBuffer.wrap(bytes);

        private static MessageDigest sha256() {
            try {
                return MessageDigest.getInstance("SHA-256");
            } catch (NoSuchAlgorithmException e) {
                throw new IllegalStateException("every Java has SHA-256", e);
            }
        }

        Sha256Digest of(byte[] text) {
            try {
                digest.update(text);
                digest.digest(bytes, 0, BYTES);
            } catch (DigestException e) {
                throw new IllegalStateException("a SHA-256 has 32 bytes", e);
            }
            return new Sha256Digest(view.getLong(0), view.getLong(8), view.getLong(16), view.getLong(24));
        }
    }

    /** The digest of the text's UTF-8. */
    static Sha256Digest of(String text) {
        return DIGESTERS.get().of(text.getBytes(StandardCharsets.UTF_8));
    }

    /** The digest with these bytes. */
    static Sha256Digest fromBytes(byte[] digest) {
        ByteBuffer view = ByteBuffer.wrap(digest);
        return new Sha256Digest(view.getLong(0), view.getLong(8), view.getLong(16), view.getLong(24));
    }

    /** Compares in constant time. */
    @Override
    public boolean equals(Object other) {
        return other instanceof Sha256Digest digest
                && ((a ^ digest.a) | (b ^ digest.b) | (c ^ digest.c) | (d ^ digest.d)) == 0;
    }

    @Override
    public int hashCode() {
        return Long.hashCode(a);
    }

    /** Nothing of the digest. */
    @Override
    public String toString() {
        return "SHA-256";
    }
}
