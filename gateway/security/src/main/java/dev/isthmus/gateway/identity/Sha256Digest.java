package dev.isthmus.gateway.identity;

import dev.isthmus.gateway.settings.Digests;
import io.netty.util.concurrent.FastThreadLocal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;

/**
 * The SHA-256 of a text, as a key of maps. Secrets are looked up by it: how long a look-up takes tells nothing of them,
 * since nobody can choose a digest.
 */
public record Sha256Digest(long a, long b, long c, long d) {
    private static final FastThreadLocal<MessageDigest> DIGESTS = new FastThreadLocal<>() {
        @Override
        protected MessageDigest initialValue() {
            return Digests.of(Digests.SHA_256);
        }
    };

    /** The digest of the text's UTF-8. */
    static Sha256Digest of(String text) {
        return of(text.getBytes(StandardCharsets.UTF_8));
    }

    /** The digest of these bytes. */
    public static Sha256Digest of(byte[] bytes) {
        return fromBytes(DIGESTS.get().digest(bytes));
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
