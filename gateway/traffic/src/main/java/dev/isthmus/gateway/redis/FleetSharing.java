package dev.isthmus.gateway.redis;

import dev.isthmus.gateway.limit.RateCounters;
import dev.isthmus.gateway.limit.RateDecision;
import dev.isthmus.gateway.ramp.RampStateFile;
import dev.isthmus.gateway.ramp.Ramps;
import dev.isthmus.gateway.ramp.SharedRamps;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.SharedConfig;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.InstantSource;
import java.util.concurrent.ScheduledExecutorService;
import org.jspecify.annotations.Nullable;

/** The limits and ramps of a gateway: its own, or shared with other gateways if it is configured so. */
public final class FleetSharing implements AutoCloseable {
    private final @Nullable RedisConnection connection;
    private final RateCounters counters;
    private final Ramps ramps;

    /**
     * Starts without limits and ramps. Blocks for a second at most, if the server does not answer; it is then connected to
     * later.
     *
     * @param scheduler checks the ramps; it may be blocked
     */
    public FleetSharing(GatewayConfig config, MeterRegistry meters, ScheduledExecutorService scheduler) {
        SharedConfig sharing = config.shared();
        RateCounters local = RateCounters.ofThisGateway(System::nanoTime);
        SharedRamps sharedRamps = null;
        if (sharing == null) {
            connection = null;
            counters = local;
        } else {
            connection = new RedisConnection(sharing, new RedisMeters(meters));
            connection.open();
            counters = shared(sharing, new RedisTokens(connection, sharing.prefix()), local);
            sharedRamps = new RedisRamps(connection, sharing.prefix());
        }
        ramps = new Ramps(
                meters,
                System::nanoTime,
                InstantSource.system(),
                scheduler,
                new RampStateFile(config.ramps().stateFile()),
                sharedRamps);
    }

    /** Counters that count the calls of all gateways. */
    private static RateCounters shared(SharedConfig config, TokenStore tokens, RateCounters local) {
        return (limit, perSecond, burstNanos) -> new SharedCounter(
                tokens,
                new TokenStore.TokenBucketKey(limit, perSecond, burstNanos),
                config.onFailure() == SharedConfig.FailureMode.LOCAL
                        ? local.counter(limit, perSecond, burstNanos)
                        : null,
                config.onFailure() == SharedConfig.FailureMode.CLOSED
                        ? new RateDecision.Unreadable()
                        : RateDecision.ADMITTED,
                System::nanoTime);
    }

    public Ramps ramps() {
        return ramps;
    }

    /** The counters of rate limits. */
    public RateCounters counters() {
        return counters;
    }

    /** Ends the ramps. Blocks briefly. */
    @Override
    public void close() {
        ramps.close();
        if (connection != null) {
            connection.close();
        }
    }
}
