package dev.isthmus.gateway.fleet;

import dev.isthmus.oip.OipException;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiConsumer;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The servers that operators have taken out of service, by address, with who, when and why in words. They outlive
 * configurations; those of several gateways may be the same. Thread-safe.
 */
public final class DrainedServers {
    private final LongSupplier nanoTime;
    private final Set<Runnable> watchers = ConcurrentHashMap.newKeySet();
    private volatile Map<String, Drain> drains = Map.of();
    private volatile BiConsumer<String, @Nullable String> others = (address, why) -> {};

    /** @param nanos when this gateway learned of it */
    private record Drain(String why, long nanos) {}

    /** None; the time is on the scale of {@link System#nanoTime()}. */
    public DrainedServers(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
    }

    /**
     * From now on other gateways are told of a change.
     *
     * @param tell with an address and the words, null to put the server into service; throws {@link OipException} if they
     *     cannot be told; may block
     */
    public void share(BiConsumer<String, @Nullable String> tell) {
        others = tell;
    }

    /** Why the server at an address, as host and port, gets no calls; null if it is in service. */
    public @Nullable String of(String address) {
        Drain drain = drains.get(address);
        return drain == null ? null : drain.why();
    }

    /** Whether the server gets a call that began, or whose sequence did, at this time. */
    boolean serves(String address, long began) {
        Drain drain = drains.get(address);
        return drain == null || began < drain.nanos();
    }

    public Map<String, String> all() {
        return drains.entrySet().stream()
                .collect(Collectors.toMap(
                        Map.Entry::getKey, each -> each.getValue().why()));
    }

    /**
     * Takes a server out of service, or puts it into service again. May block.
     *
     * @param why null to put it into service
     * @throws OipException UNAVAILABLE if the other gateways cannot be told: nothing is changed here
     */
    public void change(String address, @Nullable String why) {
        // Not under the lock: answers of those that are told may wait for it.
        others.accept(address, why);
        synchronized (this) {
            Map<String, String> next = new HashMap<>(all());
            next.compute(address, (key, before) -> why);
            replace(next);
        }
    }

    /** These are drained, and no others. */
    public synchronized void replace(Map<String, String> now) {
        if (!now.equals(all())) {
            Map<String, Drain> next = new HashMap<>();
            now.forEach((address, why) -> {
                Drain known = drains.get(address);
                next.put(address, new Drain(why, known == null ? nanoTime.getAsLong() : known.nanos()));
            });
            drains = Map.copyOf(next);
            watchers.forEach(Runnable::run);
        }
    }

    /** Runs a task after each change, until the result is run. */
    Runnable watch(Runnable task) {
        watchers.add(task);
        return () -> watchers.remove(task);
    }
}
