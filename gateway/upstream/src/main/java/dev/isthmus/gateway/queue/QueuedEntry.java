package dev.isthmus.gateway.queue;

/** The place of something in a {@link FairQueue}. */
public final class QueuedEntry<T> {
    private final T value;
    private final CallerFlow<T> flow;
    private final long rank;
    private final long order;

    QueuedEntry(T value, CallerFlow<T> flow, long rank, long order) {
        this.value = value;
        this.flow = flow;
        this.rank = rank;
        this.order = order;
    }

    T value() {
        return value;
    }

    CallerFlow<T> flow() {
        return flow;
    }

    /** By rank, which may wrap around; then first come, first served. */
    int compare(QueuedEntry<T> other) {
        int byRank = Long.compare(rank - other.rank, 0);
        return byRank != 0 ? byRank : Long.compare(order, other.order);
    }
}
