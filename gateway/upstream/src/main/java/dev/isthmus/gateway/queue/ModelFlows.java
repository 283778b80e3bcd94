package dev.isthmus.gateway.queue;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What a {@link FairQueue} has for one share of the models, by caller. Never empty while it is a member. */
final class ModelFlows<T> extends WeightedTurns.WeightedMember {
    private final String share;
    private final Map<Object, CallerFlow<T>> callers = new HashMap<>();
    private final WeightedTurns<CallerFlow<T>> turns = new WeightedTurns<>();
    private int size;

    ModelFlows(String share, int weight) {
        super(weight);
        this.share = share;
    }

    String share() {
        return share;
    }

    int size() {
        return size;
    }

    /** The flows, the next one first. */
    Iterable<CallerFlow<T>> inOrder() {
        return turns.inOrder();
    }

    @Nullable
    CallerFlow<T> of(Object caller) {
        return callers.get(caller);
    }

    void add(QueuedEntry<T> entry) {
        CallerFlow<T> flow = entry.flow();
        flow.add(entry);
        size++;
        if (flow.size() == 1) {
            callers.put(flow.caller(), flow);
            turns.join(flow);
        }
    }

    /** An entry has its turn. */
    void serve(QueuedEntry<T> entry) {
        CallerFlow<T> flow = entry.flow();
        flow.remove(entry);
        size--;
        if (flow.size() == 0) {
            callers.remove(flow.caller());
            turns.servedLast(flow);
        } else {
            turns.served(flow);
        }
    }

    /** An entry leaves without a turn; false if it is not here. */
    boolean remove(QueuedEntry<T> entry) {
        CallerFlow<T> flow = entry.flow();
        if (!flow.remove(entry)) {
            return false;
        }
        size--;
        if (flow.size() == 0) {
            callers.remove(flow.caller());
            turns.leave(flow);
        }
        return true;
    }
}
