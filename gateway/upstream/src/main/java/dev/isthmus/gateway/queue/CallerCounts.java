package dev.isthmus.gateway.queue;

import java.util.concurrent.ConcurrentHashMap;

/** How many calls of each caller are under way; only those that have some take memory. Thread-safe. */
public final class CallerCounts {
    private final ConcurrentHashMap<Object, Integer> calls = new ConcurrentHashMap<>();

    public int of(Object caller) {
        return calls.getOrDefault(caller, 0);
    }

    /** A call begins; {@link #ended} follows once. */
    public void began(Object caller) {
        calls.merge(caller, 1, Integer::sum);
    }

    public void ended(Object caller) {
        calls.computeIfPresent(caller, (name, count) -> count == 1 ? null : count - 1);
    }
}
