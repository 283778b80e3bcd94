package dev.isthmus.gateway.redis;

import dev.isthmus.gateway.limit.RateCounters;
import dev.isthmus.gateway.ramp.RampStateFile;
import dev.isthmus.gateway.ramp.Ramps;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.SharedConfig;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.InstantSource;
import java.util.concurrent.ScheduledExecutorService;
import org.jspecify.annotations.Nullable;

/** The limits and ramps of a gateway: its own, or shared with other gateways if it is configured so. */
public final class FleetSharing implements AutoCloseable {
    private final @Nullable SharedState shared;
    private final Ramps ramps;

    /**
     * Starts without limits and ramps. Blocks for a second at most.
     *
     * @param scheduler checks the ramps; it may be blocked
     */
    public FleetSharing(GatewayConfig config, MeterRegistry meters, ScheduledExecutorService scheduler) {
        SharedConfig sharing = config.shared();
        shared = sharing == null ? null : SharedState.open(sharing, System::nanoTime, meters);
        ramps = new Ramps(
                meters,
                System::nanoTime,
                InstantSource.system(),
                scheduler,
                RampStateFile.store(config.ramps().stateFile()),
                shared == null ? null : shared.ramps());
    }

    public Ramps ramps() {
        return ramps;
    }

    /** The counters of rate limits. */
    public RateCounters counters() {
        return shared == null ? RateCounters.ofThisGateway(System::nanoTime) : shared.counters();
    }

    /** Ends the ramps. Blocks briefly. */
    @Override
    public void close() {
        ramps.close();
        if (shared != null) {
            shared.close();
        }
    }
}
