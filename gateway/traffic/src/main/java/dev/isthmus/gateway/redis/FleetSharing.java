package dev.isthmus.gateway.redis;

import dev.isthmus.gateway.fleet.DrainedServers;
import dev.isthmus.gateway.limit.RateCounters;
import dev.isthmus.gateway.limit.RateDecision;
import dev.isthmus.gateway.net.FailureReason;
import dev.isthmus.gateway.ramp.RampState;
import dev.isthmus.gateway.ramp.RampStateFile;
import dev.isthmus.gateway.ramp.Ramps;
import dev.isthmus.gateway.ramp.SavedRamp;
import dev.isthmus.gateway.ramp.SharedRamps;
import dev.isthmus.gateway.redis.RedisConnection.RedisMeters;
import dev.isthmus.gateway.settings.Digests;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.SharedConfig;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The limits and ramps of a gateway: its own, or shared with other gateways if it is configured so. */
public final class FleetSharing implements AutoCloseable {
    private static final long FOLLOW_MILLIS = 500;

    private final @Nullable RedisConnection connection;
    private final RateCounters counters;
    private final Ramps ramps;
    private final ScheduledExecutorService scheduler;
    private final String prefix;

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
        this.scheduler = scheduler;
        prefix = sharing == null ? "" : sharing.prefix();
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

    /**
     * The clock of a server, which a key could be written to as a gateway does it. Blocks.
     *
     * @throws IOException if there is no answer within the limit, or none that is expected
     */
    public static Instant clock(SharedConfig config, Duration limit) throws IOException {
        try (RedisServers servers = new RedisServers(config, refused -> {})) {
            return get(servers.connect()
                    .thenCompose(link -> RedisConnection.probe(link, config.prefix())
                            .thenCompose(written -> link.commands().time()))
                    .thenApply(time -> Instant.ofEpochSecond(
                            Long.parseLong(time.get(0)), TimeUnit.MICROSECONDS.toNanos(Long.parseLong(time.get(1)))))
                    .toCompletableFuture()
                    .orTimeout(limit.toNanos(), TimeUnit.NANOSECONDS));
        }
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

    /** From now on the servers that are drained are the same in all gateways, if there are others. */
    public void share(DrainedServers drained) {
        if (connection != null) {
            RedisDrains common = new RedisDrains(connection, prefix + "drained", drained);
            drained.share(common::change);
            scheduler.scheduleWithFixedDelay(common::follow, 0, FOLLOW_MILLIS, TimeUnit.MILLISECONDS);
        }
    }

    public Ramps ramps() {
        return ramps;
    }

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

    private static <T> T get(CompletableFuture<T> answer) throws IOException {
        try {
            return answer.get();
        } catch (ExecutionException e) {
            throw new IOException(FailureReason.of(e), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("closing");
        }
    }

    /** The servers that are drained, in Redis: addresses with who, when and why. */
    private record RedisDrains(RedisConnection connection, String key, DrainedServers drained) {
        /** All of them are one answer, and several gateways may add one at a time. */
        private static final int MAX_DRAINED = 500;

        void change(String address, @Nullable String why) {
            if (why != null && drained.of(address) == null && drained.all().size() >= MAX_DRAINED) {
                throw new OipException(
                        ErrorCode.ABORTED, MAX_DRAINED + " servers are drained; first enable those that are gone");
            }
            try {
                get(why == null ? run("enable", address, "") : run("drain", address, why));
            } catch (IOException e) {
                throw new OipException(ErrorCode.UNAVAILABLE, "Redis does not answer; repeat it when it does", e);
            }
        }

        /** Drains what is drained there; if nothing is known there, as after a loss of data, what is drained here stays. */
        void follow() {
            if (connection.answers()) {
                run("list", "", "").thenAccept(common -> {
                    if (common.remove("") == null) {
                        drained.all().forEach((address, why) -> run("drain", address, why));
                    } else {
                        drained.replace(common);
                    }
                });
            }
        }

        private CompletableFuture<Map<String, String>> run(String command, String address, String why) {
            return connection.run(RedisScript.DRAIN, key, RedisDrains::drains, late -> {}, command, address, why);
        }

        private static Map<String, String> drains(List<Object> answer) {
            Map<String, String> drains = new HashMap<>();
            for (int i = 0; i < answer.size(); i += 2) {
                drains.put((String) answer.get(i), (String) answer.get(i + 1));
            }
            return drains;
        }
    }

    /** States of ramps in Redis: one hash for each model and configuration of its ramp. */
    record RedisRamps(RedisConnection connection, String prefix) implements SharedRamps {
        private static final int DIGITS = 16;

        @Override
        public SavedRamp exchange(String model, SavedRamp mine, RampCommand command, SavedRamp wanted)
                throws IOException {
            return get(connection.run(
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
                    wanted.changed().toString()));
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
    record RedisTokens(RedisConnection connection, String prefix) implements TokenStore {
        private static final double MICROS_PER_SECOND = TimeUnit.SECONDS.toMicros(1);

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
