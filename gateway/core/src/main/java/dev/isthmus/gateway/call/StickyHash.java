package dev.isthmus.gateway.call;

/**
 * The hash for sticky routing: the same in every gateway and release (docs/reference/routing.md). 64-bit FNV-1a over
 * the text's UTF-16 code units, followed by MurmurHash3's finalizer, so that every bit depends on the whole text.
 */
public final class StickyHash {
    private static final long BASIS = 0xcbf29ce484222325L;
    private static final long PRIME = 0x100000001b3L;
    private static final long GOLDEN = 0x9e3779b97f4a7c15L;

    private StickyHash() {}

    public static long of(String text) {
        return of(BASIS, text);
    }

    /**
     * The hash of a text in a scope.
     *
     * @param seed distinguishes equal texts of different scopes; itself a hash
     */
    public static long of(long seed, String text) {
        long hash = seed;
        for (int i = 0; i < text.length(); i++) {
            hash = (hash ^ text.charAt(i)) * PRIME;
        }
        return mix(hash);
    }

    /** A number from 0 (inclusive) to 1 (exclusive) from the upper 53 bits. */
    public static double unit(long hash) {
        return (hash >>> 11) * 0x1p-53;
    }

    /**
     * The affinity for a hash; never {@link Call#NO_AFFINITY}. Mixed again: the keys of one target have hashes from one
     * part of the range, but should be spread over all of its servers.
     */
    public static long affinity(long hash) {
        long affinity = mix(hash + GOLDEN);
        return affinity == Call.NO_AFFINITY ? 1 : affinity;
    }

    /** Spreads every bit over all bits; the constants are MurmurHash3's. */
    public static long mix(long value) {
        long mixed = (value ^ (value >>> 33)) * 0xff51afd7ed558ccdL;
        mixed = (mixed ^ (mixed >>> 33)) * 0xc4ceb9fe1a85ec53L;
        return mixed ^ (mixed >>> 33);
    }
}
