package dev.isthmus.gateway.routing;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.StickyHash;
import java.time.Duration;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The targets of running sequences, so that none moves when weights change or the table is replaced. Thread-safe;
 * shared by successive tables. An entry that is evicted, after ten idle minutes or for lack of space, is found again by
 * its hash while the weights are unchanged.
 */
public final class SequencePins {
    private static final int CAPACITY = 100_000;
    private static final Duration IDLE = Duration.ofMinutes(10);

    // Keyed by hash: clients choose names and ids of any length.
    private final Cache<Long, SequencePin> destinations;
    private final LongSupplier nanoTime;

    /**
     * Where a sequence is.
     *
     * @param beganNanos as {@link Call#sequenceNanos}
     */
    record SequencePin(WeightedTarget.Destination destination, long beganNanos) {}

    /** @param nanoTime on the scale of {@link System#nanoTime()} */
    public SequencePins(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
        this.destinations = Caffeine.newBuilder()
                .maximumSize(CAPACITY)
                .expireAfterAccess(IDLE)
                .ticker(nanoTime::getAsLong)
                .executor(Runnable::run)
                .build();
    }

    /**
     * The key of a sequence: its id is scoped to the model, or to a version if the client names one and it selects
     * targets.
     *
     * @param version empty if it does not matter
     */
    static long key(String model, String version, String id) {
        long modelHash = StickyHash.of(model);
        return StickyHash.of(version.isEmpty() ? modelHash : StickyHash.of(modelHash, version), id);
    }

    @Nullable
    SequencePin find(long key) {
        return destinations.getIfPresent(key);
    }

    /** @param starts whether this is its first request, and not only the first that this gateway sees */
    SequencePin pin(long key, WeightedTarget.Destination destination, boolean starts) {
        SequencePin pin = new SequencePin(destination, starts ? nanoTime.getAsLong() : Call.EARLIER);
        destinations.put(key, pin);
        return pin;
    }

    void forget(long key) {
        destinations.invalidate(key);
    }

    long size() {
        destinations.cleanUp();
        return destinations.estimatedSize();
    }
}
