package dev.isthmus.gateway.metrics;

import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.composite.CompositeMeterRegistry;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Function;

/**
 * The meters of something that a reload may replace while it still ends: where two of one name live at once, the newer one's
 * are shown, and stay when the older one is closed. For all threads.
 */
public final class ReplaceableMeters implements AutoCloseable {
    private final MeterRegistry registry;
    // Guarded by the registry. Meters of one name and tags are equal, whoever registered them: these are told by
    // identity.
    private final Map<Meter.Id, Meter> own = new HashMap<>();
    private boolean closed;

    /** None yet. */
    public ReplaceableMeters(MeterRegistry registry) {
        this.registry = registry;
    }

    /**
     * The meter: this owner's, if it has added it before, else a new one in the place of another owner's. After the end one
     * that nobody sees.
     */
    public <M extends Meter> M add(Function<MeterRegistry, M> register) {
        synchronized (registry) {
            if (closed) {
                return register.apply(new CompositeMeterRegistry());
            }
            // A registry gives back what it has under the same name, and logs a warning for gauges: the name comes
            // first.
            Meter.Id id = register.apply(new CompositeMeterRegistry()).getId();
            if (own.containsKey(id)) {
                M known = register.apply(registry);
                if (isOwn(known)) {
                    return known;
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
