package dev.isthmus.gateway.redis;

import dev.isthmus.gateway.limit.RateCounters;
import dev.isthmus.gateway.limit.RateDecision;
import dev.isthmus.gateway.ramp.RampState;
import dev.isthmus.gateway.ramp.RampStateFile;
import dev.isthmus.gateway.ramp.Ramps;
import dev.isthmus.gateway.ramp.SavedRamp;
import dev.isthmus.gateway.ramp.SharedRamps;
import dev.isthmus.gateway.redis.RedisConnection.RedisMeters;
import dev.isthmus.gateway.settings.Digests;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.SharedConfig;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
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

    /** States of ramps in Redis: one hash for each model and configuration of its ramp. */
    static final class RedisRamps implements SharedRamps {
        private static final int DIGITS = 16;

        private final RedisConnection connection;
        private final String prefix;

        RedisRamps(RedisConnection connection, String prefix) {
            this.connection = connection;
            this.prefix = prefix;
        }

        @Override
        public SavedRamp exchange(String model, SavedRamp mine, RampCommand command, SavedRamp wanted)
                throws IOException {
            try {
                return connection
                        .run(
                                RedisScript.RAMP,
                                key(model, mine.configuration()),
                                common -> ramp(mine, common),
                                late -> {},
                                command.name().toLowerCase(Locale.ROOT),
                                Long.toString(mine.round()),
                                Integer.toString(mine.step()),
                                mine.state().label(),
                                mine.reason(),
                                mine.changed().toString(),
                                Integer.toString(wanted.step()),
                                wanted.state().label(),
                                wanted.changed().toString())
                        .get();
            } catch (ExecutionException e) {
                throw new IOException(String.valueOf(e.getCause()), e);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new InterruptedIOException("closing");
            }
        }

        private static SavedRamp ramp(SavedRamp mine, List<Object> common) {
            return new SavedRamp(
                    mine.configuration(),
                    RampState.valueOf(((String) common.get(2)).toUpperCase(Locale.ROOT)),
                    Math.toIntExact((Long) common.get(1)),
                    mine.share(),
                    (String) common.get(3),
                    Instant.parse((String) common.get(4)),
                    (Long) common.get(0));
        }

        /** The model's name comes last, as it may have any characters. */
        private String key(String model, String configuration) {
            return prefix + "ramp:"
                    + Digests.hex(Digests.SHA_256, configuration).substring(0, DIGITS) + ":" + model;
        }
    }

    /** Buckets in Redis: for each, the time at which it will be full, by the server's clock. */
    static final class RedisTokens implements TokenStore {
        private static final double MICROS_PER_SECOND = TimeUnit.SECONDS.toMicros(1);

        private final RedisConnection connection;
        private final String prefix;

        RedisTokens(RedisConnection connection, String prefix) {
            this.connection = connection;
            this.prefix = prefix;
        }

        @Override
        public boolean answers() {
            return connection.answers();
        }

        @Override
        public CompletableFuture<Grant> take(TokenBucketKey bucket, long first, long more) {
            return connection.run(
                    RedisScript.TAKE,
                    key(bucket),
                    RedisTokens::grant,
                    late -> giveBack(bucket, late.tokens()),
                    Long.toString(first),
                    Long.toString(more),
                    microsPerToken(bucket),
                    Double.toString(bucket.burstNanos() / 1e3));
        }

        private static Grant grant(List<Object> answer) {
            return new Grant(
                    (Long) answer.get(0),
                    TimeUnit.MICROSECONDS.toNanos((Long) answer.get(1)),
                    TimeUnit.MICROSECONDS.toNanos((Long) answer.get(2)));
        }

        @Override
        public void giveBack(TokenBucketKey bucket, long tokens) {
            if (tokens > 0 && connection.answers()) {
                connection.run(
                        RedisScript.GIVE_BACK,
                        key(bucket),
                        Function.identity(),
                        late -> {},
                        Long.toString(tokens),
                        microsPerToken(bucket));
            }
        }

        private String key(TokenBucketKey bucket) {
            return prefix + "rate:" + bucket.limit();
        }

        private static String microsPerToken(TokenBucketKey bucket) {
            return Double.toString(MICROS_PER_SECOND / bucket.perSecond());
        }

        @Override
        public void later(Runnable task, long nanos) {
            connection.later(task, nanos);
        }
    }
}
