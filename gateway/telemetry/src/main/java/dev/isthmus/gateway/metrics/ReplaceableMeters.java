package dev.isthmus.gateway.metrics;

import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.composite.CompositeMeterRegistry;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Function;

/**
 * The meters of a component that a reload may replace while the old one is still closing. While two of the same name
 * exist, the newer one's meters are registered, and stay when the older one is closed. Thread-safe.
 */
public final class ReplaceableMeters implements AutoCloseable {
    private final MeterRegistry registry;
    // Guarded by the registry. Meters of the same name and tags are equal, whoever registered them, so they are
    // compared by identity.
    private final Map<Meter.Id, Meter> own = new HashMap<>();
    private boolean closed;

    /** Starts without meters. */
    public ReplaceableMeters(MeterRegistry registry) {
        this.registry = registry;
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
            if (own.containsKey(id)) {
                M existing = register.apply(registry);
                if (isOwn(existing)) {
                    return existing;
                }
            }
            registry.remove(id);
            M meter = register.apply(registry);
            own.put(id, meter);
            return meter;
        }
    }

    private boolean isOwn(Meter meter) {
        return own.get(meter.getId()) == meter;
    }

    @Override
    public void close() {
        synchronized (registry) {
            registry.getMeters().stream().filter(this::isOwn).forEach(registry::remove);
            own.clear();
            closed = true;
        }
    }
}
