package dev.isthmus.gateway.fleet;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** The load of one server: our calls in flight, and the queue depth it reports. Thread-safe. */
final class ReplicaLoad {
    /** Older readings are ignored. */
    private static final long FRESH_NANOS = TimeUnit.SECONDS.toNanos(3);

    private final AtomicInteger inFlight = new AtomicInteger();
    private final AtomicLong sent = new AtomicLong();
    /** Failed calls, which count less and less: a server that fails at once would otherwise seem idle. */
    private final AtomicLong failed = new AtomicLong();

    private volatile @Nullable QueueReading reading;

    private record QueueReading(long pending, long sentBefore, long time) {}

    int inFlight() {
        return inFlight.get();
    }

    /** The number of calls ever sent. */
    long sent() {
        return sent.get();
    }

    void started() {
        inFlight.incrementAndGet();
        sent.incrementAndGet();
    }

    void ended() {
        inFlight.decrementAndGet();
    }

    /** A call has failed, or was answered with an error of the server. */
    void failed(long now) {
        failed.updateAndGet(seen -> LatencyEstimate.packed((float) LatencyEstimate.at(seen, now) + 1, now));
    }

    /** What has failed before counts no more. */
    void recovered() {
        failed.set(LatencyEstimate.NOTHING);
    }

    /** The calls in flight, and those that failed lately. */
    long inFlightOrFailed(long now) {
        return inFlight.get() + Math.round(LatencyEstimate.at(failed.get(), now));
    }

    /**
     * Records the queue depth that the server reported.
     *
     * @param sentBefore {@link #sent()} when the queue depth was requested
     */
    void read(long pending, long sentBefore, long now) {
        reading = new QueueReading(pending, sentBefore, now);
    }

    /** The estimated queue depth: the last reading plus the calls sent since; -1 without a fresh reading. */
    long pending(long now) {
        QueueReading last = reading;
        if (last == null || now - last.time > FRESH_NANOS) {
            return -1;
        }
        return last.pending + sent.get() - last.sentBefore;
    }
}
