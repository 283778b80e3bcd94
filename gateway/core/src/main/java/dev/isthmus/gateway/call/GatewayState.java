package dev.isthmus.gateway.call;

import dev.isthmus.gateway.memory.AllocationProbe;
import dev.isthmus.gateway.net.Labelled;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** What a gateway does, from its start to its end; it is ready while it serves and is warm. Thread-safe. */
public final class GatewayState implements GatewayReadiness {
    private final AtomicReference<LifecyclePhase> phase = new AtomicReference<>(LifecyclePhase.STARTING);
    private final AllocationProbe allocations;
    private final BooleanSupplier warm;

    /** What the gateway does, in this order. */
    private enum LifecyclePhase implements Labelled {
        STARTING,
        SERVING,
        DRAINING,
        STOPPING
    }

    /** @param warm whether the warm-up has ended; called for each readiness request */
    public GatewayState(AllocationProbe allocations, BooleanSupplier warm) {
        this.allocations = allocations;
        this.warm = warm;
    }

    /** Registers the gauges of the state. */
    public void show(MeterRegistry registry, BooleanSupplier ready) {
        for (LifecyclePhase each : LifecyclePhase.values()) {
            Gauge.builder("isthmus.state", this, state -> state.phase.get() == each ? 1 : 0)
                    .description("1 for what the gateway does at present")
                    .tag("state", each.label())
                    .register(registry);
        }
        Gauge.builder("isthmus.warm", this, state -> state.warm.getAsBoolean() ? 1 : 0)
                .description("1 if the warm-up has ended, or there is none")
                .register(registry);
        Gauge.builder("isthmus.ready", this, state -> state.obstacle() == null && ready.getAsBoolean() ? 1 : 0)
                .description("1 if the gateway reports itself ready")
                .register(registry);
    }

    public void serving() {
        phase.set(LifecyclePhase.SERVING);
    }

    /** Returns false if the gateway is ending already. */
    public boolean draining() {
        return phase.getAndUpdate(now -> now == LifecyclePhase.STOPPING ? now : LifecyclePhase.DRAINING)
                        .compareTo(LifecyclePhase.DRAINING)
                < 0;
    }

    public void stopping() {
        phase.set(LifecyclePhase.STOPPING);
    }

    public boolean isStopping() {
        return phase.get() == LifecyclePhase.STOPPING;
    }

    @Override
    public @Nullable String obstacle() {
        LifecyclePhase now = phase.get();
        if (now != LifecyclePhase.SERVING) {
            return now.label();
        }
        return warm.getAsBoolean() ? null : "warming up";
    }

    @Override
    public boolean ending() {
        return phase.get().compareTo(LifecyclePhase.DRAINING) >= 0;
    }

    @Override
    public @Nullable String failure() {
        return allocations.failure();
    }
}
