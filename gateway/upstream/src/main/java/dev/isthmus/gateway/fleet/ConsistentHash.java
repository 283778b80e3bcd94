package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.StickyHash;
import java.util.List;

/**
 * Rendezvous hashing: the server with the highest weight for the call's affinity. When a server leaves, only its calls
 * move; a server that joins takes an equal share from each. Gateways agree regardless of the order in which they know
 * the servers.
 */
final class ConsistentHash implements Balancer {
    private static final long SALT = 0x9E37_79B9_7F4A_7C15L;

    /**
     * A number from 0 to 1 derived from the affinity and the server, independent of the server's weight for that
     * affinity.
     */
    static double fraction(long affinity, Replica replica) {
        return StickyHash.unit(StickyHash.mix(StickyHash.mix(affinity + SALT) ^ replica.hash()));
    }

    @Override
    public Replica choose(List<Replica> candidates, Call call, long now) {
        long key = StickyHash.mix(call.affinity());
        Replica best = candidates.getFirst();
        long highest = StickyHash.mix(key ^ best.hash());
        for (int i = 1; i < candidates.size(); i++) {
            Replica other = candidates.get(i);
            long weight = StickyHash.mix(key ^ other.hash());
            if (weight > highest) {
                best = other;
                highest = weight;
            }
        }
        return best;
    }
}
