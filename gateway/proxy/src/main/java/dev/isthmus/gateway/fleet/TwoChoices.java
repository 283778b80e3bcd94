package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.Call;
import java.util.List;
import java.util.random.RandomGenerator;

/**
 * The better of two servers that are drawn by lot: nearly as even as the best of all, and gateways that know the same do
 * not all run to the same server.
 */
final class TwoChoices implements Balancer {
    /** A server whose latency is not known gets one call, and no other before that one has ended. */
    private static final double UNKNOWN_COST = Double.MAX_VALUE / 1e9;

    private final RandomGenerator random;
    private final ReplicaOrder order;

    /** Which of two servers is better. */
    @FunctionalInterface
    private interface ReplicaOrder {
        /** Negative where the first is better; 0 leaves it to the lot. */
        int compare(Replica a, Replica b, long now);
    }

    private TwoChoices(RandomGenerator random, ReplicaOrder order) {
        this.random = random;
        this.order = order;
    }

    /** By calls under way. */
    static Balancer leastRequest(RandomGenerator random) {
        return new TwoChoices(random, TwoChoices::byUnderWay);
    }

    /** By latency and calls under way. */
    static Balancer peakEwma(RandomGenerator random) {
        return new TwoChoices(random, (a, b, now) -> Double.compare(cost(a, now), cost(b, now)));
    }

    /** By requests that wait in the server; by calls under way where one of the two does not say. */
    static Balancer queueAware(RandomGenerator random) {
        return new TwoChoices(random, TwoChoices::byPending);
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

    private static int byUnderWay(Replica a, Replica b, long now) {
        return Integer.compare(a.underWay(), b.underWay());
    }

    private static double cost(Replica replica, long now) {
        int underWay = replica.underWay();
        if (replica.latency().known()) {
            return replica.latency().at(now) * (underWay + 1);
        }
        return underWay * UNKNOWN_COST;
    }

    private static int byPending(Replica a, Replica b, long now) {
        long ofA = a.load().pending(now);
        long ofB = b.load().pending(now);
        int byPending = ofA < 0 || ofB < 0 ? 0 : Long.compare(ofA, ofB);
        return byPending == 0 ? byUnderWay(a, b, now) : byPending;
    }
}
