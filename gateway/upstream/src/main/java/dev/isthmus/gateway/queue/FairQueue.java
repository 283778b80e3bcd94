package dev.isthmus.gateway.queue;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Calls in a fair order: models take turns by their shares, within a share callers by their weights, and within a caller
 * the call with the lowest rank is next. A caller that has just come is behind at most the calls that were there, so
 * nobody starves, however many callers come. Not thread-safe, and not bounded.
 */
public final class FairQueue<T> {
    /** Stands for all models without a share of their own; no model has an empty name. */
    private static final String OTHERS = "";

    private final Map<String, Integer> shares;
    private final Map<String, ModelFlows<T>> models = new HashMap<>();
    private final WeightedTurns<ModelFlows<T>> turns = new WeightedTurns<>();
    private int size;
    private long orders;

    /**
     * An empty queue.
     *
     * @param shares of models; all others have one of 1 together
     */
    public FairQueue(Map<String, Integer> shares) {
        this.shares = Map.copyOf(shares);
    }

    public int size() {
        return size;
    }

    public boolean isEmpty() {
        return size == 0;
    }

    public int waitingOf(Object caller) {
        int waiting = 0;
        for (ModelFlows<T> each : models.values()) {
            CallerFlow<T> flow = each.callers.get(caller);
            waiting += flow == null ? 0 : flow.entries.size();
        }
        return waiting;
    }

    /**
     * Adds a call.
     *
     * @param caller with {@code equals}
     * @param weight of the caller, which does not change while calls of it wait
     * @param rank among calls of the caller; may wrap around
     */
    public QueuedEntry<T> add(T value, Object caller, int weight, String model, long rank) {
        String share = shares.containsKey(model) ? model : OTHERS;
        ModelFlows<T> flows = models.get(share);
        boolean joins = flows == null;
        if (flows == null) {
            flows = new ModelFlows<>(share, shares.getOrDefault(share, 1));
            models.put(share, flows);
        }
        CallerFlow<T> flow = flows.callers.get(caller);
        QueuedEntry<T> entry =
                new QueuedEntry<>(value, flow == null ? new CallerFlow<>(caller, weight, flows) : flow, rank, orders++);
        flows.add(entry);
        size++;
        if (joins) {
            turns.join(flows);
        }
        return entry;
    }

    /**
     * Takes the next call.
     *
     * @param startable whether a call can be taken; otherwise the next caller has its turn
     * @return null if there is none
     */
    public @Nullable T poll(Predicate<T> startable) {
        QueuedEntry<T> entry = next(startable);
        if (entry == null) {
            return null;
        }
        ModelFlows<T> flows = entry.flow.models;
        flows.serve(entry);
        size--;
        if (flows.size == 0) {
            models.remove(flows.share);
            turns.servedLast(flows);
        } else {
            turns.served(flows);
        }
        return entry.value;
    }

    private @Nullable QueuedEntry<T> next(Predicate<T> startable) {
        for (ModelFlows<T> flows : turns.inOrder()) {
            for (CallerFlow<T> flow : flows.turns.inOrder()) {
                if (startable.test(flow.entries.first().value)) {
                    return flow.entries.first();
                }
            }
        }
        return null;
    }

    /** Removes a call that has not been taken; false if it was. */
    public boolean remove(QueuedEntry<T> entry) {
        ModelFlows<T> flows = entry.flow.models;
        if (!flows.remove(entry)) {
            return false;
        }
        size--;
        if (flows.size == 0) {
            models.remove(flows.share);
            turns.leave(flows);
        }
        return true;
    }

    /**
     * Removes a call of the caller with the most calls for its weight, the last one of that caller, if it has more than
     * another caller would with one more call.
     *
     * @return null if it has not
     */
    public @Nullable T displaceFor(Object caller, int weight) {
        CallerFlow<T> longest = null;
        for (ModelFlows<T> each : models.values()) {
            for (CallerFlow<T> flow : each.turns.inOrder()) {
                longest = longest == null || flow.load() > longest.load() ? flow : longest;
            }
        }
        if (longest == null || longest.load() <= (waitingOf(caller) + 1.0) / weight) {
            return null;
        }
        QueuedEntry<T> last = longest.entries.last();
        remove(last);
        return last.value;
    }

    /** How many calls would be taken before one more of this caller; an estimate, for calls of the same rank. */
    public long ahead(Object caller, int weight, String model) {
        String share = shares.containsKey(model) ? model : OTHERS;
        ModelFlows<T> own = models.get(share);
        long before = own == null ? 0 : before(own, caller, weight);
        long total = before;
        int ownShare = shares.getOrDefault(share, 1);
        for (ModelFlows<T> each : models.values()) {
            if (!each.share.equals(share)) {
                total += Math.min(each.size, (before + 1) * each.weight() / ownShare);
            }
        }
        return total;
    }

    private static <T> long before(ModelFlows<T> flows, Object caller, int weight) {
        CallerFlow<T> own = flows.callers.get(caller);
        long before = own == null ? 0 : own.entries.size();
        long total = before;
        for (CallerFlow<T> flow : flows.turns.inOrder()) {
            if (flow != own) {
                total += Math.min(flow.entries.size(), (before + 1) * flow.weight() / weight);
            }
        }
        return total;
    }

    /** Removes everything. */
    public List<T> drain() {
        List<T> all = new ArrayList<>(size);
        for (T next = poll(any -> true); next != null; next = poll(any -> true)) {
            all.add(next);
        }
        return all;
    }

    /** The place of a call. */
    public static final class QueuedEntry<T> {
        private final T value;
        private final CallerFlow<T> flow;
        private final long rank;
        private final long order;

        private QueuedEntry(T value, CallerFlow<T> flow, long rank, long order) {
            this.value = value;
            this.flow = flow;
            this.rank = rank;
            this.order = order;
        }

        T value() {
            return value;
        }

        /** By rank, which may wrap around; then first come, first served. */
        private int compare(QueuedEntry<T> other) {
            int byRank = Long.compare(rank - other.rank, 0);
            return byRank != 0 ? byRank : Long.compare(order, other.order);
        }
    }

    /** What one caller has for one share of the models. Never empty while it is a member. */
    private static final class CallerFlow<T> extends WeightedTurns.WeightedMember {
        private final Object caller;
        private final ModelFlows<T> models;
        private final TreeSet<QueuedEntry<T>> entries = new TreeSet<>(QueuedEntry::compare);

        CallerFlow(Object caller, int weight, ModelFlows<T> models) {
            super(weight);
            this.caller = caller;
            this.models = models;
        }

        /** How much it has for its weight. */
        double load() {
            return (double) entries.size() / weight();
        }
    }

    /** What there is for one share of the models, by caller. Never empty while it is a member. */
    private static final class ModelFlows<T> extends WeightedTurns.WeightedMember {
        private final String share;
        private final Map<Object, CallerFlow<T>> callers = new HashMap<>();
        private final WeightedTurns<CallerFlow<T>> turns = new WeightedTurns<>();
        private int size;

        ModelFlows(String share, int weight) {
            super(weight);
            this.share = share;
        }

        void add(QueuedEntry<T> entry) {
            CallerFlow<T> flow = entry.flow;
            flow.entries.add(entry);
            size++;
            if (flow.entries.size() == 1) {
                callers.put(flow.caller, flow);
                turns.join(flow);
            }
        }

        /** An entry has its turn. */
        void serve(QueuedEntry<T> entry) {
            CallerFlow<T> flow = entry.flow;
            flow.entries.remove(entry);
            size--;
            if (flow.entries.isEmpty()) {
                callers.remove(flow.caller);
                turns.servedLast(flow);
            } else {
                turns.served(flow);
            }
        }

        /** An entry leaves without a turn; false if it is not here. */
        boolean remove(QueuedEntry<T> entry) {
            CallerFlow<T> flow = entry.flow;
            if (!flow.entries.remove(entry)) {
                return false;
            }
            size--;
            if (flow.entries.isEmpty()) {
                callers.remove(flow.caller);
                turns.leave(flow);
            }
            return true;
        }
    }

    /**
     * Members that take turns in proportion to their weights: self-clocked fair queueing (Golestani 1994) with turns of
     * equal length. A member's turn ends at a virtual time, 1 / weight after its last one or, if it has just joined, after
     * the time of the last turn; the earliest is next. Nothing of a member that has left needs to be remembered: the time of
     * its last turn has passed. Confined to the lock of the queue.
     */
    private static final class WeightedTurns<M extends WeightedTurns.WeightedMember> {
        private static final Comparator<WeightedMember> ORDER = Comparator.<WeightedMember>comparingDouble(
                        member -> member.end)
                .thenComparingLong(member -> member.order);

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

        /** A member has had its turn, and stays. */
        void served(M member) {
            members.remove(member);
            clock = Math.max(clock, member.end);
            join(member);
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

        /** Adds one that is not a member. */
        void join(M member) {
            member.end = clock + 1.0 / member.weight();
            member.order = orders++;
            members.add(member);
        }
    }

    /**
     * How long calls wait, from the times between the last calls that were taken while others waited. Times are on one scale,
     * in nanoseconds. Not thread-safe.
     */
    public static final class WaitEstimate {
        private static final int ENOUGH = 8;
        private static final double NEWEST = 1.0 / 8;

        private double interval;
        private int measured;
        private long last;

        /** The first call waits. */
        public void began(long now) {
            last = now;
        }

        /** A call was taken. */
        public void taken(long now) {
            double seen = (double) Math.max(0, now - last);
            last = now;
            interval = measured == 0 ? seen : interval + (seen - interval) * NEWEST;
            measured = Math.min(measured + 1, ENOUGH);
        }

        /** How long a call waits that has this many before it; 0 if that is not known. */
        public long nanos(long ahead) {
            return measured < ENOUGH ? 0 : (long) (interval * (ahead + 1));
        }
    }
}
