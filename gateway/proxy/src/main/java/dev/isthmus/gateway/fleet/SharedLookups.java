package dev.isthmus.gateway.fleet;

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
public final class SharedLookups<K, V> {
    /** Outcomes that are kept. */
    static final int ENTRIES = 10_000;
    /** Look-ups under way at once. */
    static final int LOOK_UPS = 64;
    /** Who wait for one look-up. */
    private static final int WAITERS = 10_000;

    private final Cache<K, LookupResult<V>> known;
    private final Map<K, List<Consumer<LookupResult<V>>>> underWay = new HashMap<>();

    /** What came of a look-up. */
    public sealed interface LookupResult<V> {

        /** How long it may be told to others. */
        Duration keep();

        record Value<V>(V value, Duration keep) implements LookupResult<V> {}

        record Failure<V>(OipException failure, Duration keep) implements LookupResult<V> {}
    }

    /** Looks something up and tells once what came of it. */
    public interface Lookup<V> {
        void begin(Consumer<LookupResult<V>> found);
    }

    public SharedLookups(LongSupplier nanoTime) {
        known = Caffeine.newBuilder()
                .maximumSize(ENTRIES)
                .expireAfter(Expiry.<K, LookupResult<V>>writing((key, found) -> found.keep()))
                .ticker(nanoTime::getAsLong)
                .executor(Runnable::run)
                .build();
    }

    /** What is known, on any thread. */
    public Optional<LookupResult<V>> known(K key) {
        return Optional.ofNullable(known.getIfPresent(key));
    }

    /** Looks it up, or joins who do so already. */
    public void want(K key, Lookup<V> search, Consumer<LookupResult<V>> then) {
        List<Consumer<LookupResult<V>>> waiters = underWay.get(key);
        if (waiters != null && waiters.size() < WAITERS) {
            waiters.add(then);
        } else if (waiters != null || underWay.size() >= LOOK_UPS) {
            then.accept(new LookupResult.Failure<>(
                    new OipException(ErrorCode.UNAVAILABLE, "too many concurrent model look-ups"), Duration.ZERO));
        } else {
            waiters = new ArrayList<>();
            waiters.add(then);
            underWay.put(key, waiters);
            search.begin(found -> found(key, found));
        }
    }

    private void found(K key, LookupResult<V> found) {
        put(key, found);
        List<Consumer<LookupResult<V>>> waiters = underWay.remove(key);
        if (waiters != null) {
            waiters.forEach(waiter -> waiter.accept(found));
        }
    }

    /** Keeps what was found without being asked for. */
    public void put(K key, LookupResult<V> found) {
        if (found.keep().isPositive()) {
            known.put(key, found);
        }
    }

    /** Everything has to be looked up anew. */
    public void forgetAll() {
        known.invalidateAll();
    }
}
