package dev.isthmus.bench.fuzz;

import java.util.List;
import java.util.Random;

/** Pseudo-random choices, determined by a seed. Not thread-safe. */
final class SeededChoices {
    private static final String TEXT =
            "abcXYZ019-_. /\\\"'{}[]:,%+=&?#*\u0000\t\r\n\u007f\u00e9\u4e16\ud83d\ude00\ud800\u2028";

    private final Random random;

    SeededChoices(long seed) {
        random = new Random(seed);
    }

    /** Derives a seed, so that consecutive numbers give unrelated seeds. */
    static long mix(long seed, long number) {
        long z = seed * 0x9E3779B97F4A7C15L + number;
        z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
        z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
        return z ^ (z >>> 31);
    }

    boolean chance(double share) {
        return random.nextDouble() < share;
    }

    /** From 0 to n - 1. */
    int below(int n) {
        return random.nextInt(n);
    }

    /** A number between the two, inclusive. */
    int between(int least, int most) {
        return least + random.nextInt(most - least + 1);
    }

    long number() {
        return switch (below(6)) {
            case 0 -> below(3) - 1;
            case 1 -> 1L << below(63);
            case 2 -> (1L << below(63)) - 1;
            case 3 -> -(1L << below(63));
            case 4 -> random.nextLong();
            default -> below(1_000);
        };
    }

    /** A size up to {@code most}; small sizes and those next to powers of two are as likely as large ones. */
    int size(int most) {
        int bits = 32 - Integer.numberOfLeadingZeros(most);
        int size = (1 << below(bits)) + between(-1, 1);
        return Math.clamp(chance(0.5) ? size : below(size + 2), 0, most);
    }

    @SafeVarargs
    final <T> T pick(T... values) {
        return values[below(values.length)];
    }

    <T> T pick(List<T> values) {
        return values.get(below(values.size()));
    }

    byte[] bytes(int length) {
        byte[] bytes = new byte[length];
        random.nextBytes(bytes);
        return bytes;
    }

    /** Text of characters that are special to some parser. */
    String text(int length) {
        StringBuilder text = new StringBuilder(length);
        for (int i = 0; i < length; i++) {
            text.append(chance(0.7) ? (char) between('a', 'z') : TEXT.charAt(below(TEXT.length())));
        }
        return text.toString();
    }

    /** The bytes with some of them changed, removed, repeated or truncated; unchanged half of the time. */
    byte[] spoil(byte[] bytes) {
        if (bytes.length == 0 || chance(0.5)) {
            return bytes;
        }
        int at = below(bytes.length);
        int length = Math.min(bytes.length - at, 1 + size(64));
        return switch (below(5)) {
            case 0 -> join(bytes, at, new byte[0], bytes.length); // truncated
            case 1 -> join(bytes, at, new byte[0], at + length); // removed
            case 2 -> join(bytes, at + length, bytes, at); // repeated from an earlier index
            case 3 -> join(bytes, at, bytes(length), at); // inserted
            default -> join(bytes, at, bytes(length), at + length); // changed
        };
    }

    /**
     * {@code first} up to {@code end}, then {@code between} (at most as long as {@code first}), then the rest from
     * {@code next}.
     */
    private static byte[] join(byte[] first, int end, byte[] between, int next) {
        int inner = between == first ? 0 : between.length;
        byte[] joined = new byte[end + inner + Math.max(0, first.length - next)];
        System.arraycopy(first, 0, joined, 0, end);
        System.arraycopy(between, 0, joined, end, inner);
        System.arraycopy(first, Math.min(next, first.length), joined, end + inner, Math.max(0, first.length - next));
        return joined;
    }
}
