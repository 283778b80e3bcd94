package dev.isthmus.gateway.fleet;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** What one server has to do: calls of ours under way, and what it says that waits in it. Used by all event loops. */
final class ReplicaLoad {
    /** A reading that is older says nothing. */
    private static final long FRESH_NANOS = TimeUnit.SECONDS.toNanos(3);

    private final AtomicInteger underWay = new AtomicInteger();
    private final AtomicLong sent = new AtomicLong();
    private volatile @Nullable QueueReading reading;

    private record QueueReading(long pending, long sentBefore, long time) {}

    int underWay() {
        return underWay.get();
    }

    /** Calls that were ever sent. */
    long sent() {
        return sent.get();
    }

    void started() {
        underWay.incrementAndGet();
        sent.incrementAndGet();
    }

    void ended() {
        underWay.decrementAndGet();
    }

    /**
     * The server says what waits in it.
     *
     * @param sentBefore {@link #sent()} when it was asked
     */
    void read(long pending, long sentBefore, long now) {
        reading = new QueueReading(pending, sentBefore, now);
    }

    /** What waits in the server: as it said last, and what was sent since; -1 where it said nothing lately. */
    long pending(long now) {
        QueueReading last = reading;
        if (last == null || now - last.time > FRESH_NANOS) {
            return -1;
        }
        return last.pending + sent.get() - last.sentBefore;
    }
}
