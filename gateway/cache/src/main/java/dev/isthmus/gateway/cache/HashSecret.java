package dev.isthmus.gateway.cache;

import java.nio.ByteBuffer;
import java.nio.LongBuffer;
import java.security.SecureRandom;

/** The random values of this process that its hashes depend on, so that nobody can make up requests with equal ones. */
public final class HashSecret {
    /** Words of a block of {@link RequestHasher.BlockHash}. */
    static final int WORDS = 1024;

    private static final int PREFIX = 32;

    /** What the hashed text begins with. */
    final byte[] prefix = new byte[PREFIX];
    /** One for each word of a block. */
    final long[] first = new long[WORDS];
    /** Others for each word of a block. */
    final long[] second = new long[WORDS];

    public HashSecret() {
        SecureRandom random = new SecureRandom();
        byte[] bytes = new byte[2 * WORDS * Long.BYTES];
        random.nextBytes(bytes);
        LongBuffer words = ByteBuffer.wrap(bytes).asLongBuffer();
        words.get(first).get(second);
        random.nextBytes(prefix);
    }
}
