package dev.isthmus.gateway.cache;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.cache.RequestHasher.BlockHash;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import java.math.BigInteger;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

class BlockHashTest {
    private static final HashSecret SECRET = new HashSecret();

    private final Random random = new Random(1);

    private static String hash(HashSecret secret, ByteBuf data) throws Exception {
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        new BlockHash(secret).add(data, digest);
        return HexFormat.of().formatHex(digest.digest());
    }

    private byte[] bytes(int length) {
        byte[] bytes = new byte[length];
        random.nextBytes(bytes);
        return bytes;
    }

    private static ByteBuf direct(byte[] bytes) {
        return Unpooled.directBuffer(bytes.length).writeBytes(bytes);
    }

    /** In parts of these sizes, in turn. */
    private static CompositeByteBuf parts(byte[] bytes, int... sizes) {
        CompositeByteBuf composite = Unpooled.compositeBuffer(Integer.MAX_VALUE);
        int from = 0;
        for (int i = 0; from < bytes.length; i++) {
            int length = Math.min(sizes[i % sizes.length], bytes.length - from);
            ByteBuf part = i % 2 == 0 ? Unpooled.buffer(length) : Unpooled.directBuffer(length);
            composite.addComponent(true, part.writeBytes(bytes, from, length));
            from += length;
        }
        return composite;
    }

    /** The sums as UMAC defines them, without vectors. */
    private static byte[] sums(HashSecret secret, byte[] data) {
        int blocks = (data.length + BlockHash.BLOCK - 1) / BlockHash.BLOCK;
        byte[] padded = Arrays.copyOf(data, blocks * BlockHash.BLOCK);
        ByteBuf sums = Unpooled.buffer();
        ByteBuf words = Unpooled.wrappedBuffer(padded);
        for (int block = 0; block < blocks; block++) {
            BigInteger first = BigInteger.ZERO;
            BigInteger second = BigInteger.ZERO;
            for (int i = 0; i < HashSecret.WORDS; i++) {
                long word = words.readLongLE();
                first = first.add(product(word + secret.first[i]));
                second = second.add(product(word + secret.second[i]));
            }
            sums.writeLong(first.longValue()).writeLong(second.longValue());
        }
        byte[] all = new byte[sums.readableBytes()];
        sums.readBytes(all);
        return all;
    }

    private static BigInteger product(long word) {
        return BigInteger.valueOf(word & 0xffff_ffffL).multiply(BigInteger.valueOf(word >>> 32));
    }

    @Test
    void sums_areThoseOfTheDefinition() throws Exception {
        for (int length : new int[] {1, 512, BlockHash.BLOCK, BlockHash.BLOCK + 1, 70 * BlockHash.BLOCK + 13}) {
            byte[] data = bytes(length);
            String expected = HexFormat.of()
                    .formatHex(MessageDigest.getInstance("SHA-256").digest(sums(SECRET, data)));
            assertThat(hash(SECRET, Unpooled.wrappedBuffer(data))).isEqualTo(expected);
        }
    }

    @Test
    void parts_andKindsOfMemory_makeNoDifference() throws Exception {
        byte[] data = bytes(3 * BlockHash.BLOCK + 100);
        String expected = hash(SECRET, Unpooled.wrappedBuffer(data));
        ByteBuf direct = direct(data);
        assertThat(hash(SECRET, direct)).isEqualTo(expected);
        direct.release();
        for (int size = 1; size < 40; size++) {
            CompositeByteBuf composite = parts(data, size, 5000, 1, BlockHash.BLOCK);
            assertThat(hash(SECRET, composite)).isEqualTo(expected);
            assertThat(composite.readableBytes()).isEqualTo(data.length);
            composite.release();
        }
    }

    @Test
    void everyBit_counts() throws Exception {
        byte[] data = bytes(BlockHash.BLOCK + 17);
        Set<String> hashes = new HashSet<>();
        hashes.add(hash(SECRET, Unpooled.wrappedBuffer(data)));
        for (int bit = 0; bit < data.length * 8; bit += 7) {
            data[bit / 8] ^= (byte) (1 << bit % 8);
            assertThat(hashes.add(hash(SECRET, Unpooled.wrappedBuffer(data)))).isTrue();
            data[bit / 8] ^= (byte) (1 << bit % 8);
        }
    }

    @Test
    void exchangedWordsAndBlocks_count() throws Exception {
        byte[] data = bytes(2 * BlockHash.BLOCK);
        byte[] blocks = data.clone();
        System.arraycopy(data, 0, blocks, BlockHash.BLOCK, BlockHash.BLOCK);
        System.arraycopy(data, BlockHash.BLOCK, blocks, 0, BlockHash.BLOCK);
        byte[] words = data.clone();
        System.arraycopy(data, 0, words, 8, 8);
        System.arraycopy(data, 8, words, 0, 8);
        assertThat(Set.of(
                        hash(SECRET, Unpooled.wrappedBuffer(data)),
                        hash(SECRET, Unpooled.wrappedBuffer(blocks)),
                        hash(SECRET, Unpooled.wrappedBuffer(words))))
                .hasSize(3);
    }

    @Test
    void anotherSecret_givesAnotherHash() throws Exception {
        byte[] data = bytes(BlockHash.BLOCK);
        assertThat(hash(new HashSecret(), Unpooled.wrappedBuffer(data)))
                .isNotEqualTo(hash(SECRET, Unpooled.wrappedBuffer(data)));
    }
}
