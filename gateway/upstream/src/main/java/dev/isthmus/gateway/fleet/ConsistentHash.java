package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.Call;
import java.util.List;

/**
 * Rendezvous hashing: the server with the highest weight for the call's affinity. When a server leaves, only its calls
 * move; a server that joins takes an equal share from each. Gateways agree regardless of the order in which they know
 * the servers.
 */
final class ConsistentHash implements Balancer {
    private static final long FNV_OFFSET = 0xCBF2_9CE4_8422_2325L;
    private static final long FNV_PRIME = 0x0000_0100_0000_01B3L;
    private static final long SALT = 0x9E37_79B9_7F4A_7C15L;
    private static final double UNIT = 0x1p-53;

    /** The hash of a server's label. */
    static long of(String label) {
        long hash = FNV_OFFSET;
        for (int i = 0; i < label.length(); i++) {
            hash = (hash ^ label.charAt(i)) * FNV_PRIME;
        }
        return mixed(hash);
    }

    /**
     * A number from 0 to 1 derived from the affinity and the server, independent of the server's weight for that
     * affinity.
     */
    static double fraction(long affinity, Replica replica) {
        return (mixed(mixed(affinity + SALT) ^ replica.hash()) >>> 11) * UNIT;
    }

    @Override
    public Replica choose(List<Replica> candidates, Call call, long now) {
        long key = mixed(call.affinity());
        Replica best = candidates.getFirst();
        long highest = mixed(key ^ best.hash());
        for (int i = 1; i < candidates.size(); i++) {
            Replica other = candidates.get(i);
            long weight = mixed(key ^ other.hash());
            if (weight > highest) {
                best = other;
                highest = weight;
            }
        }
        return best;
    }

    /** Spreads every bit over all bits; the constants are MurmurHash3's. */
    private static long mixed(long value) {
        long mixed = (value ^ (value >>> 33)) * 0xFF51_AFD7_ED55_8CCDL;
        mixed = (mixed ^ (mixed >>> 33)) * 0xC4CE_B9FE_1A85_EC53L;
        return mixed ^ (mixed >>> 33);
    }
}
