package dev.isthmus.gateway.metrics;

import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Function;

/**
 * The meters of something that a reload may replace while it still ends: where two of one name live at once, the newer one's
 * are shown, and stay when the older one is closed. For all threads.
 */
public final class OwnMeters implements AutoCloseable {
    private final MeterRegistry registry;
    private final Queue<Meter> meters = new ConcurrentLinkedQueue<>();

    /** None yet. */
    public OwnMeters(MeterRegistry registry) {
        this.registry = registry;
    }

    /** Adds a meter, in the place of one of the same name and tags. */
    public <M extends Meter> M add(Function<MeterRegistry, M> register) {
        synchronized (registry) {
            M meter = register.apply(registry);
            if (isAnothers(meter)) {
                registry.remove(meter);
                meter = register.apply(registry);
            }
            meters.add(meter);
            return meter;
        }
    }

    /** A registry gives back what is there, under the same name: that is made anew. */
    private boolean isAnothers(Meter meter) {
        return meters.stream().noneMatch(own -> own == meter);
    }

    @Override
    public void close() {
        synchronized (registry) {
            for (Meter meter : meters) {
                boolean shown = registry.getMeters().stream().anyMatch(each -> each == meter);
                if (shown) {
                    registry.remove(meter);
                }
            }
            meters.clear();
        }
    }
}
