package dev.isthmus.gateway.routing;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import java.time.Duration;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Where the running sequences are, so that none moves when weights change or a new table takes over. Used by all event loops
 * and by one table after the other. What is forgotten here, after ten idle minutes or because there are too many, is found
 * again by its hash as long as the weights are the same.
 */
public final class SequencePins {
    private static final int CAPACITY = 100_000;
    private static final Duration IDLE = Duration.ofMinutes(10);

    // By hash: names and ids are client-made and as long as clients like.
    private final Cache<Long, WeightedTarget.TargetFactory> places;

    /** @param nanoTime the clock, on the scale of {@link System#nanoTime()} */
    public SequencePins(LongSupplier nanoTime) {
        this.places = Caffeine.newBuilder()
                .maximumSize(CAPACITY)
                .expireAfterAccess(IDLE)
                .ticker(nanoTime::getAsLong)
                .executor(Runnable::run)
                .build();
    }

    /**
     * The key of a sequence: ids are a model's own, or a version's where the client names it and it is bound to some targets.
     *
     * @param version empty where it does not matter
     */
    static long key(String model, String version, String id) {
        long ofModel = StickyHash.of(model);
        return StickyHash.of(version.isEmpty() ? ofModel : StickyHash.of(ofModel, version), id);
    }

    WeightedTarget.@Nullable TargetFactory find(long key) {
        return places.getIfPresent(key);
    }

    void remember(long key, WeightedTarget.TargetFactory place) {
        places.put(key, place);
    }

    void forget(long key) {
        places.invalidate(key);
    }

    long size() {
        places.cleanUp();
        return places.estimatedSize();
    }
}
