package dev.isthmus.gateway.routing;

import dev.isthmus.gateway.call.Call;

/**
 * The hash that keeps a key in its place: the same in every gateway and release (docs/reference/routing.md). FNV-1a over the
 * text's UTF-16 code units, 64 bits wide, and then the finalizer of MurmurHash3, so that every bit depends on all of the
 * text.
 */
final class StickyHash {
    private static final long BASIS = 0xcbf29ce484222325L;
    private static final long PRIME = 0x100000001b3L;
    private static final long GOLDEN = 0x9e3779b97f4a7c15L;

    private StickyHash() {}

    static long of(String text) {
        return of(BASIS, text);
    }

    /** @param seed what the same texts differ by, itself a hash */
    static long of(long seed, String text) {
        long hash = seed;
        for (int i = 0; i < text.length(); i++) {
            hash = (hash ^ text.charAt(i)) * PRIME;
        }
        return mix(hash);
    }

    /** A number from 0 to below 1 from the upper 53 bits. */
    static double unit(long hash) {
        return (hash >>> 11) * 0x1p-53;
    }

    /**
     * The affinity of what has this hash; never {@link Call#NO_AFFINITY}. Mixed once more: all keys of an arm have hashes from
     * one part of the range, and their servers should not be.
     */
    static long affinity(long hash) {
        long affinity = mix(hash + GOLDEN);
        return affinity == Call.NO_AFFINITY ? 1 : affinity;
    }

    private static long mix(long value) {
        long mixed = (value ^ (value >>> 33)) * 0xff51afd7ed558ccdL;
        mixed = (mixed ^ (mixed >>> 33)) * 0xc4ceb9fe1a85ec53L;
        return mixed ^ (mixed >>> 33);
    }
}
