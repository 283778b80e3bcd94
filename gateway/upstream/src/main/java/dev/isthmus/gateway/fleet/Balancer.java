package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.StickyHash;
import dev.isthmus.gateway.settings.UpstreamConfig.BalancePolicy;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.random.RandomGenerator;

/** A load balancing policy. Thread-safe. */
@FunctionalInterface
interface Balancer {

    /**
     * Chooses the server for a call.
     *
     * @param candidates one or more eligible servers
     */
    Replica choose(List<Replica> candidates, Call call, long now);

    /** The balancer for the policy. Calls with an affinity are always balanced by consistent hash. */
    static Balancer of(BalancePolicy policy, RandomGenerator random) {
        Balancer withoutAffinity = withoutAffinity(policy, random);
        Balancer byHash = new ConsistentHash();
        return (candidates, call, now) ->
                (call.affinity() == Call.NO_AFFINITY ? withoutAffinity : byHash).choose(candidates, call, now);
    }

    /** For calls without an affinity. */
    private static Balancer withoutAffinity(BalancePolicy policy, RandomGenerator random) {
        return switch (policy) {
            case ROUND_ROBIN -> roundRobin();
            case LEAST_REQUEST, CONSISTENT_HASH -> new TwoChoices(random, TwoChoices::byActiveRequests);
            case PEAK_EWMA -> new TwoChoices(random, TwoChoices::byCost);
            case QUEUE_AWARE -> new TwoChoices(random, TwoChoices::byPending);
        };
    }

    /** Chooses the candidates in turn. */
    private static Balancer roundRobin() {
        AtomicInteger next = new AtomicInteger();
        return (candidates, call, now) -> candidates.get(Math.floorMod(next.getAndIncrement(), candidates.size()));
    }

    /**
     * Power of two choices: the better of two random servers. Nearly as even as the best of all, and gateways with the same
     * information do not all choose the same server.
     */
    record TwoChoices(RandomGenerator random, ReplicaOrder order) implements Balancer {
        /** A server of unknown latency gets one call, and no other before that call has ended. */
        private static final double UNKNOWN_LATENCY_COST = Double.MAX_VALUE / 1e9;

        @FunctionalInterface
        interface ReplicaOrder {
            /** Negative if the first is better; 0 if they are equal, and the random order decides. */
            int compare(Replica a, Replica b, long now);
        }

        @Override
        public Replica choose(List<Replica> candidates, Call call, long now) {
            int size = candidates.size();
            if (size == 1) {
                return candidates.getFirst();
            }
            int first = random.nextInt(size);
            int second = random.nextInt(size - 1);
            Replica a = candidates.get(first);
            Replica b = candidates.get(second < first ? second : second + 1);
            return order.compare(a, b, now) <= 0 ? a : b;
        }

        /** By calls in flight; failed ones count a little longer. */
        static int byActiveRequests(Replica a, Replica b, long now) {
            return Long.compare(a.load().inFlightOrFailed(now), b.load().inFlightOrFailed(now));
        }

        /** By latency and calls in flight. */
        static int byCost(Replica a, Replica b, long now) {
            return Double.compare(cost(a, now), cost(b, now));
        }

        private static double cost(Replica replica, long now) {
            int inFlight = replica.load().inFlight();
            if (replica.latency().known()) {
                return replica.latency().at(now) * (inFlight + 1);
            }
            return inFlight * UNKNOWN_LATENCY_COST;
        }

        /** By queue depth; by calls in flight if that of one of the two is unknown. */
        static int byPending(Replica a, Replica b, long now) {
            long pendingA = a.load().pending(now);
            long pendingB = b.load().pending(now);
            int byPending = pendingA < 0 || pendingB < 0 ? 0 : Long.compare(pendingA, pendingB);
            return byPending == 0 ? byActiveRequests(a, b, now) : byPending;
        }
    }

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
}
