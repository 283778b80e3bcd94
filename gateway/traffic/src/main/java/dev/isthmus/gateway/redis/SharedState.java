package dev.isthmus.gateway.redis;

import dev.isthmus.gateway.limit.RateCounters;
import dev.isthmus.gateway.limit.RateDecision;
import dev.isthmus.gateway.ramp.SharedRamps;
import dev.isthmus.gateway.settings.SharedConfig;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.function.LongSupplier;

/** What this gateway shares with others. */
public final class SharedState implements AutoCloseable {
    private final RedisConnection connection;
    private final SharedConfig config;
    private final LongSupplier nanoTime;

    private SharedState(RedisConnection connection, SharedConfig config, LongSupplier nanoTime) {
        this.connection = connection;
        this.config = config;
        this.nanoTime = nanoTime;
    }

    /**
     * Connects to the server. Blocks for a second at most, if it does not answer; it is then connected to later.
     *
     * @param nanoTime as {@link System#nanoTime()}
     */
    public static SharedState open(SharedConfig config, LongSupplier nanoTime, MeterRegistry meters) {
        RedisConnection connection = new RedisConnection(config, new RedisMeters(meters));
        connection.open();
        return new SharedState(connection, config, nanoTime);
    }

    /** Counters that count the calls of all gateways. */
    public RateCounters counters() {
        RedisTokens tokens = new RedisTokens(connection, config.prefix());
        RateCounters local = RateCounters.ofThisGateway(nanoTime);
        return (limit, perSecond, burstNanos) -> new SharedCounter(
                tokens,
                new TokenStore.TokenBucketKey(limit, perSecond, burstNanos),
                config.onFailure() == SharedConfig.FailureMode.LOCAL
                        ? local.counter(limit, perSecond, burstNanos)
                        : null,
                config.onFailure() == SharedConfig.FailureMode.CLOSED
                        ? new RateDecision.Unreadable()
                        : RateDecision.ADMITTED,
                nanoTime);
    }

    /** The common states of ramps. */
    public SharedRamps ramps() {
        return new RedisRamps(connection, config.prefix());
    }

    /** Ends the connection. Blocks briefly. */
    @Override
    public void close() {
        connection.close();
    }
}
