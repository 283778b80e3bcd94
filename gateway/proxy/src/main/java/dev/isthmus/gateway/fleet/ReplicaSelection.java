package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.oip.ModelRef;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.function.Predicate;
import java.util.random.RandomGenerator;

/** The servers of a set that a call may go to, before the policy chooses one of them. Used by all event loops. */
final class ReplicaSelection {
    private final double panicThreshold;
    private final RandomGenerator random;

    /** @param panicThreshold where less than this share of the servers is usable, all are used */
    ReplicaSelection(double panicThreshold, RandomGenerator random) {
        this.panicThreshold = panicThreshold;
        this.random = random;
    }

    /**
     * One or more of the servers, as long as there are any.
     *
     * @param tried passed over as long as there is another
     */
    List<Replica> of(List<Replica> all, Call call, ModelRef model, Collection<Replica> tried, long now) {
        List<Replica> serving = someOf(all, replica -> replica.readiness().mayServe(model));
        List<Replica> usable = only(serving, replica -> replica.usable(now));
        if (usable.isEmpty() || usable.size() < panicThreshold * serving.size()) {
            usable = serving;
        }
        // One that is not ready may still be better than one that has just failed.
        List<Replica> untried = tried.isEmpty() ? usable : only(usable, replica -> !tried.contains(replica));
        if (untried.isEmpty()) {
            untried = someOf(serving, replica -> !tried.contains(replica));
        }
        return someOf(untried, replica -> warm(replica, call, now));
    }

    /** A server in its slow start takes part in its share of the calls; calls of one affinity come to it for good. */
    private boolean warm(Replica replica, Call call, long now) {
        double share = replica.warmth().share(now);
        if (share >= 1) {
            return true;
        }
        return (call.affinity() == Call.NO_AFFINITY
                        ? random.nextDouble()
                        : ConsistentHash.lot(call.affinity(), replica))
                < share;
    }

    private static List<Replica> someOf(List<Replica> replicas, Predicate<Replica> wanted) {
        List<Replica> some = only(replicas, wanted);
        return some.isEmpty() ? replicas : some;
    }

    /** The same list where all are wanted, as is the rule. */
    private static List<Replica> only(List<Replica> replicas, Predicate<Replica> wanted) {
        List<Replica> only = null;
        for (int i = 0; i < replicas.size(); i++) {
            Replica replica = replicas.get(i);
            boolean kept = wanted.test(replica);
            if (!kept && only == null) {
                only = new ArrayList<>(replicas.subList(0, i));
            } else if (kept && only != null) {
                only.add(replica);
            }
        }
        return only == null ? replicas : only;
    }
}
