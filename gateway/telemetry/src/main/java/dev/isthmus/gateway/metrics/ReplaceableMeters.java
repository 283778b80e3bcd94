package dev.isthmus.gateway.metrics;

import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.composite.CompositeMeterRegistry;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.function.Function;

/**
 * The meters of a component that a reload may replace while the old one is still closing. While two of the same name
 * exist, the newer one's meters are registered, and stay when the older one is closed. Thread-safe.
 */
public final class ReplaceableMeters implements AutoCloseable {
    /**
     * Of each registry, who has registered its meters: those of the same name and tags are equal. A registry can only be
     * searched from its first meter to its last, which for each of thousands of routes takes minutes.
     */
    private static final Map<MeterRegistry, Map<Meter.Id, Object>> OWNERS =
            Collections.synchronizedMap(new WeakHashMap<>());

    private final MeterRegistry registry;
    /** Stands for this one; without a reference to the registry. */
    private final Object self = new Object();

    private final Map<Meter.Id, Object> owners; // guarded by the registry
    private final Set<Meter.Id> own = new HashSet<>(); // guarded by the registry
    private boolean closed;

    public ReplaceableMeters(MeterRegistry registry) {
        this.registry = registry;
        this.owners = OWNERS.computeIfAbsent(registry, key -> new HashMap<>());
    }

    /**
     * Returns the meter: this owner's if it was added before, else a new one that replaces another owner's. After
     * {@link #close} the meter is not registered.
     */
    public <M extends Meter> M add(Function<MeterRegistry, M> register) {
        synchronized (registry) {
            if (closed) {
                return register.apply(new CompositeMeterRegistry());
            }
            // A registry returns the meter that it has under the same name, and logs a warning for gauges: so the id is
            // computed first.
            Meter.Id id = register.apply(new CompositeMeterRegistry()).getId();
            if (owners.get(id) != self) {
                registry.remove(id);
                owners.put(id, self);
                own.add(id);
            }
            return register.apply(registry);
        }
    }

    @Override
    public void close() {
        synchronized (registry) {
            for (Meter.Id id : own) {
                if (owners.remove(id, self)) {
                    registry.remove(id);
                }
            }
            own.clear();
            closed = true;
        }
    }
}
