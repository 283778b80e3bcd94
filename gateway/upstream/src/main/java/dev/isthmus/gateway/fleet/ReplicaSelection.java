package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.oip.ModelRef;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * Narrows a set to the servers eligible for a call, before the balancer chooses one of them. The servers are examined again
 * only when one of them has changed, while the result does not depend on the call. Thread-safe.
 */
final class ReplicaSelection {
    private final double panicThreshold;
    private final RandomGenerator random;
    private final AtomicLong changes;
    private volatile @Nullable CommonChoice common;

    /**
     * The servers eligible for every first attempt.
     *
     * @param all the set
     * @param changes the number of changes before the servers were examined
     * @param until when the first ejection or slow start ends
     * @param eligible null if it depends on the call: a model is not ready on a server, or one is in slow start
     */
    private record CommonChoice(
            List<Replica> all,
            long changes,
            long until,
            @Nullable List<Replica> eligible) {}

    /**
     * @param panicThreshold if less than this share of the servers is usable, all of them are eligible
     * @param changes counts the {@linkplain Replica changes} of the servers
     */
    ReplicaSelection(double panicThreshold, RandomGenerator random, AtomicLong changes) {
        this.panicThreshold = panicThreshold;
        this.random = random;
        this.changes = changes;
    }

    /**
     * The eligible servers; not empty unless the set is, or no usable server has room.
     *
     * @param tried servers to avoid if there is another
     * @param withRoom whether only servers below their adaptive limits are eligible
     */
    List<Replica> of(
            List<Replica> all, Call call, ModelRef model, Collection<Replica> tried, long now, boolean withRoom) {
        if (tried.isEmpty() && !withRoom) {
            List<Replica> eligible = common(all, now);
            if (eligible != null) {
                return eligible;
            }
        }
        List<Replica> serving = filterOrAll(all, replica -> replica.readiness().mayServe(model));
        List<Replica> usable = usable(serving, now);
        if (withRoom) {
            usable = filter(usable, replica -> replica.room() > 0);
            serving = filter(serving, replica -> replica.room() > 0);
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

    private @Nullable List<Replica> common(List<Replica> all, long now) {
        CommonChoice known = common;
        // Read before the servers' state: a change meanwhile makes the result invalid.
        long seen = changes.get();
        if (known == null || known.all() != all || known.changes() != seen || known.until() - now <= 0) {
            known = examine(all, seen, now);
            common = known;
        }
        return known.eligible();
    }

    private CommonChoice examine(List<Replica> all, long seen, long now) {
        long left = Long.MAX_VALUE / 2;
        boolean sameForAll = true;
        for (Replica replica : all) {
            if (replica.ejection().ejected(now)) {
                left = Math.min(left, replica.ejection().until() - now);
            }
            if (replica.slowStart().share(now) < 1) {
                left = Math.min(left, replica.slowStart().end() - now);
                sameForAll = false;
            }
            sameForAll &= replica.readiness().mayServeAll();
        }
        long until = now + left;
        return new CommonChoice(all, seen, until, sameForAll ? usable(all, now) : null);
    }

    private List<Replica> usable(List<Replica> serving, long now) {
        List<Replica> usable = filter(serving, replica -> replica.usable(now));
        return usable.isEmpty() || usable.size() < panicThreshold * serving.size() ? serving : usable;
    }

    /** A server in slow start gets a growing share of calls; a call with an affinity that has moved to it stays. */
    private boolean passesSlowStart(Replica replica, Call call, long now) {
        double share = replica.slowStart().share(now);
        if (share >= 1) {
            return true;
        }
        return (call.affinity() == Call.NO_AFFINITY
                        ? random.nextDouble()
                        : Balancer.ConsistentHash.fraction(call.affinity(), replica))
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
