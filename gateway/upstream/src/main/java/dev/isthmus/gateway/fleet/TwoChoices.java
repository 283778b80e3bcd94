package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.Call;
import java.util.List;
import java.util.random.RandomGenerator;

/**
 * Power of two choices: the better of two random servers. Nearly as even as the best of all, and gateways with the same
 * information do not all choose the same server.
 */
final class TwoChoices implements Balancer {
    /** A server of unknown latency gets one call, and no other before that call has ended. */
    private static final double UNKNOWN_LATENCY_COST = Double.MAX_VALUE / 1e9;

    private final RandomGenerator random;
    private final ReplicaOrder order;

    /** Compares two servers. */
    @FunctionalInterface
    interface ReplicaOrder {
        /** Negative if the first is better; 0 if they are equal, and the random order decides. */
        int compare(Replica a, Replica b, long now);
    }

    TwoChoices(RandomGenerator random, ReplicaOrder order) {
        this.random = random;
        this.order = order;
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
        int inFlight = replica.activeRequests();
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
