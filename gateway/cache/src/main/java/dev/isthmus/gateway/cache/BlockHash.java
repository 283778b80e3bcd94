package dev.isthmus.gateway.cache;

import io.netty.buffer.ByteBuf;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.MessageDigest;

/**
 * Reduces the elements of large tensors to 1/512 of their size, at the speed of memory: each block of 8 KiB to two sums
 * of products with secret words, which are then part of what SHA-256 hashes. The function is NH of UMAC (RFC 4418,
 * section 5.2) on words of 64 bits: whoever does not know the secret cannot make up two blocks with equal sums but by
 * chance, about once in 2^60. The loop is so simple that the JVM compiles it to vector instructions. Not thread-safe.
 */
final class BlockHash {
    /** Bytes of a block. */
    static final int BLOCK = HashSecret.WORDS * Long.BYTES;

    private static final ValueLayout.OfLong WORD = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final long LOW = 0xffff_ffffL;
    /** Blocks whose sums are gathered before they are hashed. */
    private static final int GATHERED = 64;

    private final long[] first;
    private final long[] second;
    private final ByteBuffer partial = ByteBuffer.allocate(BLOCK);
    private final ByteBuffer sums = ByteBuffer.allocate(GATHERED * 2 * Long.BYTES);

    BlockHash(HashSecret secret) {
        this.first = secret.first();
        this.second = secret.second();
    }

    /**
     * Hashes the sums of the readable bytes. How many there are is to be hashed, too: the last block is filled with
     * zeros.
     *
     * @param data borrowed; its indices are not moved
     */
    void add(ByteBuf data, MessageDigest digest) {
        for (ByteBuffer part : data.nioBuffers()) {
            add(part, digest);
        }
        if (partial.position() > 0) {
            while (partial.hasRemaining()) {
                partial.put((byte) 0);
            }
            addPartial(digest);
        }
        flush(digest);
    }

    private void add(ByteBuffer part, MessageDigest digest) {
        if (partial.position() > 0) {
            int moved = Math.min(part.remaining(), partial.remaining());
            partial.put(part.slice(part.position(), moved));
            part.position(part.position() + moved);
            if (partial.hasRemaining()) {
                return;
            }
            addPartial(digest);
        }
        int whole = part.remaining() / BLOCK * BLOCK;
        MemorySegment words = MemorySegment.ofBuffer(part);
        for (long offset = 0; offset < whole; offset += BLOCK) {
            block(words, offset, digest);
        }
        partial.put(part.position(part.position() + whole));
    }

    private void addPartial(MessageDigest digest) {
        partial.clear();
        block(MemorySegment.ofBuffer(partial), 0, digest);
    }

    private void block(MemorySegment words, long offset, MessageDigest digest) {
        long[] keys = first;
        long[] others = second;
        long sum = 0;
        long other = 0;
        for (int i = 0; i < HashSecret.WORDS; i++) {
            long word = words.get(WORD, offset + (long) Long.BYTES * i);
            long a = word + keys[i];
            long b = word + others[i];
            sum += (a & LOW) * (a >>> 32);
            other += (b & LOW) * (b >>> 32);
        }
        sums.putLong(sum).putLong(other);
        if (!sums.hasRemaining()) {
            flush(digest);
        }
    }

    private void flush(MessageDigest digest) {
        digest.update(sums.flip());
        sums.clear();
    }
}
