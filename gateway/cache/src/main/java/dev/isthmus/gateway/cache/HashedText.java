package dev.isthmus.gateway.cache;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** The bytes of what is hashed beside large tensors: each value has its length before it. Not thread-safe. */
final class HashedText {
    private static final int INITIAL = 1024;
    /** The length of what is missing. */
    private static final int MISSING = -1;

    private byte[] bytes = new byte[INITIAL];
    private int length;

    HashedText number(int value) {
        ensure(Integer.BYTES);
        for (int shift = 0; shift < Integer.SIZE; shift += Byte.SIZE) {
            bytes[length++] = (byte) (value >>> shift);
        }
        return this;
    }

    HashedText number(long value) {
        return number((int) value).number((int) (value >>> Integer.SIZE));
    }

    HashedText text(@Nullable String value) {
        if (value == null) {
            return number(MISSING);
        }
        byte[] encoded = value.getBytes(StandardCharsets.UTF_8);
        number(encoded.length);
        ensure(encoded.length);
        System.arraycopy(encoded, 0, bytes, length, encoded.length);
        length += encoded.length;
        return this;
    }

    private void ensure(int more) {
        if (bytes.length - length < more) {
            bytes = Arrays.copyOf(bytes, Math.max(bytes.length * 2, length + more));
        }
    }

    /** Hashes what was added since the last time. */
    void into(MessageDigest digest) {
        digest.update(bytes, 0, length);
        length = 0;
        if (bytes.length > INITIAL * 64) {
            bytes = new byte[INITIAL];
        }
    }
}
