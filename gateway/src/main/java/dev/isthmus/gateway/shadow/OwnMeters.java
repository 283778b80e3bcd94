package dev.isthmus.gateway.shadow;

import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;

/** Meters that go when their owner goes. From any thread. */
final class OwnMeters implements AutoCloseable {
    private final MeterRegistry registry;
    private final Set<Meter> own = ConcurrentHashMap.newKeySet();

    OwnMeters(MeterRegistry registry) {
        this.registry = registry;
    }

    /** The meter, which is registered the first time. */
    <M extends Meter> M own(Function<MeterRegistry, M> register) {
        M meter = register.apply(registry);
        own.add(meter);
        return meter;
    }

    @Override
    public void close() {
        own.forEach(registry::remove);
        own.clear();
    }
}
