package dev.isthmus.gateway.console;

import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/**
 * The meters with some names. A registry can only be searched from its first meter to its last, which are hundreds of
 * thousands with thousands of models. It is searched once, and followed from then on, when somebody reads. Thread-safe.
 */
public final class MeterIndex {
    private final MeterRegistry registry;
    private final Set<String> names;
    private final Set<Meter> meters = ConcurrentHashMap.newKeySet();
    /** Guarded by this. */
    private boolean follows;

    MeterIndex(MeterRegistry registry, Set<String> names) {
        this.registry = registry;
        this.names = Set.copyOf(names);
    }

    private synchronized void follow() {
        if (!follows) {
            follows = true;
            registry.config().onMeterAdded(this::added).onMeterRemoved(meters::remove);
            registry.forEachMeter(this::added);
        }
    }

    private void added(Meter meter) {
        if (names.contains(meter.getId().getName())) {
            meters.add(meter);
        }
    }

    void forEach(Consumer<Meter> reader) {
        follow();
        meters.forEach(reader);
    }
}
