package dev.isthmus.gateway.queue;

import java.util.Comparator;
import java.util.TreeSet;

/**
 * Members that take turns in proportion to their weights: self-clocked fair queueing (Golestani 1994) with turns of
 * equal length. A member's turn ends at a virtual time, 1 / weight after its last one or, if it has just joined, after
 * the time of the last turn; the earliest is next. Nothing of a member that has left needs to be remembered: the time of
 * its last turn has passed. Confined to the lock of the queue.
 */
final class WeightedTurns<M extends WeightedTurns.WeightedMember> {
    private static final Comparator<WeightedMember> ORDER =
            Comparator.<WeightedMember>comparingDouble(member -> member.end).thenComparingLong(member -> member.order);

    private final TreeSet<M> members = new TreeSet<>(ORDER);
    private double clock;
    private long orders;

    /** One that takes turns. */
    abstract static class WeightedMember {
        private final int weight;
        double end;
        long order;

        WeightedMember(int weight) {
            this.weight = weight;
        }

        final int weight() {
            return weight;
        }
    }

    /** The members, the next one first. */
    Iterable<M> inOrder() {
        return members;
    }

    boolean isEmpty() {
        return members.isEmpty();
    }

    /** Adds one that is not a member. */
    void join(M member) {
        schedule(member);
    }

    /** A member has had its turn, and stays. */
    void served(M member) {
        members.remove(member);
        clock = Math.max(clock, member.end);
        schedule(member);
    }

    /** A member has had its turn, and leaves. */
    void servedLast(M member) {
        clock = Math.max(clock, member.end);
        leave(member);
    }

    /** A member leaves without a turn. */
    void leave(M member) {
        members.remove(member);
        if (members.isEmpty()) {
            clock = 0;
        }
    }

    private void schedule(M member) {
        member.end = clock + 1.0 / member.weight();
        member.order = orders++;
        members.add(member);
    }
}
