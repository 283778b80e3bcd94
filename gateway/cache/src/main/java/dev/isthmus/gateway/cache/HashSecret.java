package dev.isthmus.gateway.cache;

import java.nio.ByteBuffer;
import java.nio.LongBuffer;
import java.security.SecureRandom;

/** The random values of this process that its hashes depend on, so that nobody can make up requests with equal ones. */
public final class HashSecret {
    /** Words of a block of {@link RequestHasher.BlockHash}. */
    static final int WORDS = 1024;

    private static final int PREFIX = 32;

    private final byte[] prefix = new byte[PREFIX];
    private final long[] first = new long[WORDS];
    private final long[] second = new long[WORDS];

    private HashSecret(SecureRandom random) {
        byte[] bytes = new byte[2 * WORDS * Long.BYTES];
        random.nextBytes(bytes);
        LongBuffer words = ByteBuffer.wrap(bytes).asLongBuffer();
        words.get(first).get(second);
        random.nextBytes(prefix);
    }

    /** New ones. */
    public static HashSecret random() {
        return new HashSecret(new SecureRandom());
    }

    /** What the hashed text begins with. */
    byte[] prefix() {
        return prefix;
    }

    /** One for each word of a block. */
    long[] first() {
        return first;
    }

    /** Others for each word of a block. */
    long[] second() {
        return second;
    }
}
