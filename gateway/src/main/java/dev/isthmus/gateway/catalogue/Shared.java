package dev.isthmus.gateway.catalogue;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.Expiry;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * Look-ups that all who ask for the same share, and whose outcomes are kept for a while. What is known can be read on any
 * thread; look-ups happen on one loop.
 *
 * @param <K> what is looked up
 * @param <V> what is found
 */
final class Shared<K, V> {
    /** Outcomes that are kept. */
    static final int ENTRIES = 10_000;
    /** Look-ups under way at once. */
    static final int LOOK_UPS = 64;
    /** Who wait for one look-up. */
    private static final int WAITERS = 10_000;

    private final Cache<K, Found<V>> known;
    private final Map<K, List<Consumer<Found<V>>>> underWay = new HashMap<>();

    /** What came of a look-up. */
    sealed interface Found<V> {

        /** How long it may be told to others. */
        Duration keep();

        record Value<V>(V value, Duration keep) implements Found<V> {}

        record Failure<V>(OipException failure, Duration keep) implements Found<V> {}
    }

    /** Looks something up and tells once what came of it. */
    interface Search<V> {
        void begin(Consumer<Found<V>> found);
    }

    Shared(LongSupplier nanoTime) {
        known = Caffeine.newBuilder()
                .maximumSize(ENTRIES)
                .expireAfter(Expiry.<K, Found<V>>writing((key, found) -> found.keep()))
                .ticker(nanoTime::getAsLong)
                .executor(Runnable::run)
                .build();
    }

    /** What is known, on any thread. */
    Optional<Found<V>> known(K key) {
        return Optional.ofNullable(known.getIfPresent(key));
    }

    /** Looks it up, or joins who do so already. */
    void want(K key, Search<V> search, Consumer<Found<V>> then) {
        List<Consumer<Found<V>>> waiters = underWay.get(key);
        if (waiters != null && waiters.size() < WAITERS) {
            waiters.add(then);
        } else if (waiters != null || underWay.size() >= LOOK_UPS) {
            then.accept(new Found.Failure<>(
                    new OipException(ErrorCode.UNAVAILABLE, "too many look-ups of models are under way"),
                    Duration.ZERO));
        } else {
            waiters = new ArrayList<>();
            waiters.add(then);
            underWay.put(key, waiters);
            search.begin(found -> found(key, found));
        }
    }

    private void found(K key, Found<V> found) {
        put(key, found);
        List<Consumer<Found<V>>> waiters = underWay.remove(key);
        if (waiters != null) {
            waiters.forEach(waiter -> waiter.accept(found));
        }
    }

    /** Keeps what was found without being asked for. */
    void put(K key, Found<V> found) {
        if (found.keep().isPositive()) {
            known.put(key, found);
        }
    }

    /** Everything has to be looked up anew. */
    void forgetAll() {
        known.invalidateAll();
    }
}
