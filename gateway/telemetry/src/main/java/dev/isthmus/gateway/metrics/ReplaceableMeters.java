package dev.isthmus.gateway.metrics;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.DistributionSummary;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.composite.CompositeMeterRegistry;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.WeakHashMap;
import java.util.function.Function;

/**
 * The meters of a component that a reload may replace while the old one is still closing, or that several have. Of those
 * that read a value the newest owner's is registered, and after it has been closed that of the newest one left. Counters,
 * timers and summaries are the same for all owners, and go on counting. Thread-safe.
 */
public final class ReplaceableMeters implements AutoCloseable {
    /**
     * Of each registry, who has a meter, the newest last: meters of the same name and tags are equal. A registry can only
     * be searched from its first meter to its last, which for each of thousands of routes takes minutes. Weak, as owners
     * have a reference to the registry.
     */
    private static final Map<MeterRegistry, Map<Meter.Id, List<WeakReference<ReplaceableMeters>>>> OWNERS =
            Collections.synchronizedMap(new WeakHashMap<>());

    private final MeterRegistry registry;
    private final WeakReference<ReplaceableMeters> self = new WeakReference<>(this);
    private final Map<Meter.Id, List<WeakReference<ReplaceableMeters>>> owners; // guarded by the registry
    /** How each of its meters is registered; guarded by the registry. */
    private final Map<Meter.Id, Function<MeterRegistry, ? extends Meter>> own = new HashMap<>();

    private boolean closed;

    public ReplaceableMeters(MeterRegistry registry) {
        this.registry = registry;
        this.owners = OWNERS.computeIfAbsent(registry, key -> new HashMap<>());
    }

    /** Returns the meter, as this owner has added it before or else adds it now. After {@link #close} it is not registered. */
    public <M extends Meter> M add(Function<MeterRegistry, M> register) {
        synchronized (registry) {
            // A registry returns the meter that it has under the same name, and logs a warning for gauges: so the id is
            // computed first.
            M apart = register.apply(new CompositeMeterRegistry());
            if (closed) {
                return apart;
            }
            if (own.putIfAbsent(apart.getId(), register) == null) {
                owners.computeIfAbsent(apart.getId(), first -> new ArrayList<>())
                        .add(self);
                if (!counts(apart)) {
                    registry.remove(apart.getId());
                }
            }
            return register.apply(registry);
        }
    }

    private static boolean counts(Meter meter) {
        return meter instanceof Counter || meter instanceof Timer || meter instanceof DistributionSummary;
    }

    @Override
    public void close() {
        synchronized (registry) {
            own.forEach((id, register) -> {
                List<WeakReference<ReplaceableMeters>> left = Objects.requireNonNull(owners.get(id));
                boolean shown = left.getLast() == self;
                left.removeIf(each -> each == self || each.get() == null);
                ReplaceableMeters newest =
                        left.isEmpty() ? null : left.getLast().get();
                if (newest == null) {
                    owners.remove(id);
                    registry.remove(id);
                } else if (shown && !counts(register.apply(new CompositeMeterRegistry()))) {
                    registry.remove(id);
                    Meter _ = Objects.requireNonNull(newest.own.get(id)).apply(registry);
                }
            });
            own.clear();
            closed = true;
        }
    }
}
