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
import java.util.function.Predicate;

/**
 * Look-ups that are shared by concurrent callers, and whose results are cached. Cached results can be read on any
 * thread; look-ups run on one loop.
 *
 * @param <K> what is looked up
 * @param <V> what is found
 */
final class SharedLookups<K, V> {
    /** Cached results. */
    static final int MAX_ENTRIES = 10_000;
    /** Concurrent look-ups. */
    static final int MAX_LOOK_UPS = 64;
    /** Callers that may wait for one look-up. */
    private static final int MAX_WAITERS = 10_000;

    private final Cache<K, LookupResult<V>> known;
    private final Map<K, List<Consumer<LookupResult<V>>>> inFlight = new HashMap<>();

    /** The result of a look-up. */
    sealed interface LookupResult<V> {

        /** How long the result may be cached. */
        Duration keep();

        record Value<V>(V value, Duration keep) implements LookupResult<V> {}

        record Failure<V>(OipException failure, Duration keep) implements LookupResult<V> {}
    }

    /** Performs a look-up and reports its result exactly once. */
    interface Lookup<V> {
        void begin(Consumer<LookupResult<V>> found);
    }

    SharedLookups(LongSupplier nanoTime) {
        known = Caffeine.newBuilder()
                .maximumSize(MAX_ENTRIES)
                .expireAfter(Expiry.<K, LookupResult<V>>writing((key, found) -> found.keep()))
                .ticker(nanoTime::getAsLong)
                .executor(Runnable::run)
                .build();
    }

    /** The cached result; on any thread. */
    Optional<LookupResult<V>> known(K key) {
        return Optional.ofNullable(known.getIfPresent(key));
    }

    /** Performs the look-up, or joins one in progress. */
    void lookUp(K key, Lookup<V> lookup, Consumer<LookupResult<V>> then) {
        List<Consumer<LookupResult<V>>> waiters = inFlight.get(key);
        if (waiters != null && waiters.size() < MAX_WAITERS) {
            waiters.add(then);
        } else if (waiters != null || inFlight.size() >= MAX_LOOK_UPS) {
            then.accept(new LookupResult.Failure<>(
                    new OipException(ErrorCode.UNAVAILABLE, "too many concurrent model look-ups"), Duration.ZERO));
        } else {
            List<Consumer<LookupResult<V>>> first = new ArrayList<>();
            first.add(then);
            inFlight.put(key, first);
            lookup.begin(found -> found(key, first, found));
        }
    }

    private void found(K key, List<Consumer<LookupResult<V>>> waiters, LookupResult<V> found) {
        if (inFlight.get(key) == waiters) {
            inFlight.remove(key);
            put(key, found);
        }
        waiters.forEach(waiter -> waiter.accept(found));
    }

    /** Caches a result that was found by other means. */
    void put(K key, LookupResult<V> found) {
        if (found.keep().isPositive()) {
            known.put(key, found);
        }
    }

    /** Some have changed: drops their results, and look-ups in progress are neither joined nor cached. On the loop. */
    void outdated(Predicate<K> which) {
        inFlight.keySet().removeIf(which);
        known.asMap().keySet().removeIf(which);
    }
}
