package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.oip.ModelRef;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.function.Predicate;
import java.util.random.RandomGenerator;

/** Narrows a set to the servers eligible for a call, before the balancer chooses one of them. Thread-safe. */
final class ReplicaSelection {
    private final double panicThreshold;
    private final RandomGenerator random;

    /** @param panicThreshold if less than this share of the servers is usable, all of them are eligible */
    ReplicaSelection(double panicThreshold, RandomGenerator random) {
        this.panicThreshold = panicThreshold;
        this.random = random;
    }

    /**
     * The eligible servers; not empty unless the set is, or no usable server has room.
     *
     * @param tried servers to avoid if there is another
     * @param withRoom whether only servers below their adaptive limits are eligible
     */
    List<Replica> of(
            List<Replica> all, Call call, ModelRef model, Collection<Replica> tried, long now, boolean withRoom) {
        List<Replica> serving = filterOrAll(all, replica -> replica.readiness().mayServe(model));
        List<Replica> usable = filter(serving, replica -> replica.usable(now));
        if (usable.isEmpty() || usable.size() < panicThreshold * serving.size()) {
            usable = serving;
        }
        if (withRoom) {
            usable = filter(usable, Replica::hasRoom);
            serving = filter(serving, Replica::hasRoom);
            if (usable.isEmpty()) {
                return usable;
            }
        }
        // A server that is not ready may still be better than one that has just failed.
        List<Replica> untried = tried.isEmpty() ? usable : filter(usable, replica -> !tried.contains(replica));
        if (untried.isEmpty()) {
            untried = filterOrAll(serving, replica -> !tried.contains(replica));
        }
        return filterOrAll(untried, replica -> passesSlowStart(replica, call, now));
    }

    /** A server in slow start gets a growing share of calls; a call with an affinity that has moved to it stays. */
    private boolean passesSlowStart(Replica replica, Call call, long now) {
        double share = replica.slowStart().share(now);
        if (share >= 1) {
            return true;
        }
        return (call.affinity() == Call.NO_AFFINITY
                        ? random.nextDouble()
                        : ConsistentHash.fraction(call.affinity(), replica))
                < share;
    }

    private static List<Replica> filterOrAll(List<Replica> replicas, Predicate<Replica> wanted) {
        List<Replica> some = filter(replicas, wanted);
        return some.isEmpty() ? replicas : some;
    }

    /** The same list if all match, which is the usual case. */
    private static List<Replica> filter(List<Replica> replicas, Predicate<Replica> wanted) {
        List<Replica> result = null;
        for (int i = 0; i < replicas.size(); i++) {
            Replica replica = replicas.get(i);
            boolean kept = wanted.test(replica);
            if (!kept && result == null) {
                result = new ArrayList<>(replicas.subList(0, i));
            } else if (kept && result != null) {
                result.add(replica);
            }
        }
        return result == null ? replicas : result;
    }
}
