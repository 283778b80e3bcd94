package dev.isthmus.gateway.queue;

import java.util.TreeSet;

/** What one caller has in a {@link FairQueue} for one share of the models. Never empty while it is a member. */
final class CallerFlow<T> extends WeightedTurns.WeightedMember {
    private final Object caller;
    private final ModelFlows<T> models;
    private final TreeSet<QueuedEntry<T>> entries = new TreeSet<>(QueuedEntry::compare);

    CallerFlow(Object caller, int weight, ModelFlows<T> models) {
        super(weight);
        this.caller = caller;
        this.models = models;
    }

    Object caller() {
        return caller;
    }

    ModelFlows<T> models() {
        return models;
    }

    int size() {
        return entries.size();
    }

    void add(QueuedEntry<T> entry) {
        entries.add(entry);
    }

    boolean remove(QueuedEntry<T> entry) {
        return entries.remove(entry);
    }

    QueuedEntry<T> first() {
        return entries.first();
    }

    QueuedEntry<T> last() {
        return entries.last();
    }

    /** How much it has for its weight. */
    double load() {
        return (double) entries.size() / weight();
    }
}
