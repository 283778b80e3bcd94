package dev.isthmus.gateway.redis;

import dev.isthmus.gateway.metrics.ReplaceableMeters;
import dev.isthmus.gateway.net.FailureReason;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.gateway.redis.RedisServers.RedisLink;
import dev.isthmus.gateway.settings.SharedConfig;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisNoScriptException;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.SetArgs;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.io.IOException;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The connection to the servers, on threads of its own. Four times a second a short-lived key is written to each server
 * that commands may go to, which says whether the servers are of use. It is made again when it was lost or there has
 * been no answer for a while. Thread-safe; never blocks unless stated.
 */
final class RedisConnection implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(RedisConnection.class);
    private static final long CHECK_MILLIS = 250;
    /** Every 5 s. */
    private static final int CHECKS_PER_SEARCH = 20;

    private static final long FIRST_BACKOFF = TimeUnit.MILLISECONDS.toNanos(250);
    private static final long LONGEST_BACKOFF = TimeUnit.SECONDS.toNanos(4);
    /** A server that has not answered for this long may have moved. */
    private static final long SILENCE = TimeUnit.SECONDS.toNanos(2);

    private static final long LATE = TimeUnit.MILLISECONDS.toNanos(20);
    private static final SetArgs BRIEFLY = SetArgs.Builder.px(TimeUnit.SECONDS.toMillis(1));

    private final SharedConfig config;
    private final RedisMeters meters;
    private final RedisServers servers;
    private final ScheduledThreadPoolExecutor timer =
            new ScheduledThreadPoolExecutor(1, new DefaultThreadFactory("isthmus-redis", true));
    private final ConnectionAttempts attempts = new ConnectionAttempts();
    private final ServerAvailability availability;

    private volatile @Nullable RedisLink link;
    /** Whether it was ever reported as lost. */
    private boolean reported;
    /** Used by the timer's thread only. */
    private int checks;

    /** When to connect next. Thread-safe. */
    private static final class ConnectionAttempts {
        private boolean active;
        private long next = System.nanoTime();
        private long backoff = FIRST_BACKOFF;

        synchronized boolean due() {
            return !active && System.nanoTime() - next >= 0;
        }

        synchronized void begin() {
            active = true;
            next = System.nanoTime() + backoff;
            backoff = Math.min(backoff * 2, LONGEST_BACKOFF);
        }

        synchronized void end(boolean connected) {
            active = false;
            backoff = connected ? FIRST_BACKOFF : backoff;
        }
    }

    RedisConnection(SharedConfig config, RedisMeters meters) {
        this.config = config;
        this.meters = meters;
        timer.setRemoveOnCancelPolicy(true);
        availability = new ServerAvailability(config.recovery(), System::nanoTime);
        servers = new RedisServers(config, what -> noAnswer(new IOException("it sends " + what)));
        meters.show(availability);
    }

    /** Connects, and keeps the connection from here on. Blocks for a second at most. */
    void open() {
        long limit = RedisServers.CONNECT_TIMEOUT.toMillis();
        try {
            connect().get(limit, TimeUnit.MILLISECONDS);
        } catch (ExecutionException failed) {
            noAnswer(failed);
        } catch (TimeoutException notYet) {
            noAnswer(new TimeoutException("no connection in " + limit + " ms"));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        timer.scheduleWithFixedDelay(this::check, CHECK_MILLIS, CHECK_MILLIS, TimeUnit.MILLISECONDS);
    }

    private CompletableFuture<?> connect() {
        attempts.begin();
        // So that a failure of the method itself ends the attempt, too.
        CompletionStage<RedisLink> making =
                CompletableFuture.completedStage(servers).thenCompose(RedisServers::connect);
        return making.toCompletableFuture().whenComplete((made, failure) -> {
            if (made == null) {
                noAnswer(failure);
            } else {
                link = made;
                answer();
            }
            attempts.end(made != null);
        });
    }

    /** A task that fails would be the last one. */
    private void check() {
        try {
            checkConnection();
        } catch (RuntimeException fault) {
            noAnswer(fault);
        }
    }

    private void checkConnection() {
        RedisLink current = link;
        if (current == null || !current.isOpen()) {
            if (current != null) {
                noAnswer(new IOException("the connection was closed"));
                // The client keeps what it was not told to close.
                leave(current);
            }
            if (attempts.due()) {
                connect();
            }
            return;
        }
        within(probe(current, config.prefix()), late -> {}).whenComplete((written, failure) -> {
            if (failure == null) {
                answer();
            } else {
                noAnswer(failure);
            }
        });
        if (availability.silentFor(SILENCE)) {
            leave(current);
        } else if (++checks % CHECKS_PER_SEARCH == 0) {
            servers.isElsewhere(current).thenAccept(elsewhere -> {
                if (elsewhere) {
                    noAnswer(new IOException("its sentinels name another server"));
                    leave(current);
                }
            });
        }
    }

    /** Writes to each server: one that answers but stores nothing, such as a replica, is of no use. */
    static CompletionStage<?> probe(RedisLink to, String prefix) {
        return CompletableFuture.allOf(to.keysOnAll(prefix + "probe").stream()
                .map(key -> to.commands().set(key, "", BRIEFLY).toCompletableFuture())
                .toArray(CompletableFuture<?>[]::new));
    }

    private void leave(RedisLink left) {
        if (left.equals(link)) {
            link = null;
        }
        left.connection().closeAsync();
    }

    boolean answers() {
        return availability.answers();
    }

    private synchronized void answer() {
        if (availability.inTime()) {
            LOG.atInfo()
                    .addMarker(RepeatingLogEvent.MARKER)
                    .log("{} answers; limits and ramps are shared", config.servers());
        }
    }

    private synchronized void noAnswer(Throwable thrown) {
        Throwable failure = cause(thrown);
        boolean lost = failure instanceof TimeoutException ? availability.late() : availability.failed();
        if (lost) {
            meters.lost.increment();
        } else if (reported || availability.answers()) {
            return;
        }
        reported = true;
        RepeatingLogEvent.warn(LOG)
                .log(
                        "{} does not answer ({}); until it does, limits are counted as "
                                + "shared.on_failure says ({}), and ramps stay at their steps",
                        config.servers(),
                        FailureReason.of(failure),
                        config.onFailure().name().toLowerCase(Locale.ROOT));
    }

    private static Throwable cause(Throwable thrown) {
        Throwable cause = thrown.getCause();
        boolean wrapped = thrown instanceof CompletionException || thrown instanceof ExecutionException;
        return wrapped && cause != null ? cause : thrown;
    }

    /**
     * @param read reads its answer; one that it cannot read counts as none
     * @param late receives an answer that comes after the time limit
     */
    <T> CompletableFuture<T> run(
            RedisScript script, String key, Function<List<Object>, T> read, Consumer<T> late, String... arguments) {
        RedisLink current = link;
        if (current == null || !answers()) {
            return CompletableFuture.failedFuture(new IOException("Redis does not answer"));
        }
        return within(
                        evaluate(current.commands(), script, key, arguments).thenApply(answer -> read(answer, read)),
                        late)
                .whenComplete((answer, failure) -> {
                    if (failure == null) {
                        meters.answered.increment();
                        answer();
                    } else {
                        failed(cause(failure));
                    }
                });
    }

    private static <T> T read(List<Object> answer, Function<List<Object>, T> read) {
        try {
            return read.apply(answer);
        } catch (RuntimeException unreadable) {
            throw new CompletionException(
                    new IOException("it sends an answer that the script does not have", unreadable));
        }
    }

    private void failed(Throwable failure) {
        meters.failed(failure instanceof TimeoutException);
        if (failure instanceof RedisCommandExecutionException refused) {
            RepeatingLogEvent.warn(LOG).log("{} refuses a command: {}", config.servers(), refused.getMessage());
        } else {
            noAnswer(failure);
        }
    }

    private static CompletionStage<List<Object>> evaluate(
            RedisClusterAsyncCommands<String, String> commands, RedisScript script, String key, String... arguments) {
        String[] keys = {key};
        return commands.<List<Object>>evalsha(script.digest(), ScriptOutputType.MULTI, keys, arguments)
                .exceptionallyCompose(failure -> cause(failure) instanceof RedisNoScriptException
                        ? commands.eval(script.text(), ScriptOutputType.MULTI, keys, arguments)
                        : CompletableFuture.failedFuture(failure));
    }

    /** The stage's result, or a failure at the time limit. */
    private <T> CompletableFuture<T> within(CompletionStage<T> stage, Consumer<T> late) {
        CompletableFuture<T> result = new CompletableFuture<>();
        ScheduledFuture<?> limit;
        try {
            long due = System.nanoTime() + config.timeout().toNanos();
            limit = timer.schedule(() -> expire(result, due), config.timeout().toNanos(), TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException closed) {
            return CompletableFuture.failedFuture(closed);
        }
        stage.whenComplete((answer, failure) -> {
            limit.cancel(false);
            if (failure != null) {
                result.completeExceptionally(failure);
            } else if (!result.complete(answer)) {
                late.accept(answer);
            }
        });
        return result;
    }

    private void expire(CompletableFuture<?> result, long due) {
        TimeoutException timeout =
                new TimeoutException("no answer in " + config.timeout().toMillis() + " ms");
        if (System.nanoTime() - due > LATE && !result.isDone()) {
            // This process did not run, and the answer may be there.
            later(() -> result.completeExceptionally(timeout), LATE);
        } else {
            result.completeExceptionally(timeout);
        }
    }

    /** Runs a task on a thread of this connection; not after it is closed. */
    void later(Runnable task, long nanos) {
        try {
            timer.schedule(task, nanos, TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException closed) {
            LOG.debug("the connection is closed");
        }
    }

    /** Ends the connection and its threads. Blocks briefly. */
    @Override
    public void close() {
        timer.shutdownNow();
        availability.failed();
        servers.close();
        meters.close();
    }

    static final class RedisMeters implements AutoCloseable {
        private final ReplaceableMeters meters;
        private final Counter answered;
        private final Counter timeouts;
        private final Counter failed;
        private final Counter lost;

        RedisMeters(MeterRegistry registry) {
            meters = new ReplaceableMeters(registry);
            answered = commands("answered");
            timeouts = commands("timeout");
            failed = commands("failed");
            lost = meters.add(Counter.builder("isthmus.shared.lost")
                    .description("How often the Redis server was no longer used, as it failed or was slow")::register);
        }

        private Counter commands(String outcome) {
            return meters.add(Counter.builder("isthmus.shared.commands")
                    .description("Commands to the Redis server that limits and ramps are shared in")
                    .tag("outcome", outcome)::register);
        }

        void show(ServerAvailability servers) {
            meters.add(
                    Gauge.builder("isthmus.shared.up", servers, it -> it.answers() ? 1 : 0)
                                    .description(
                                            "1 if the Redis server answers; 0 if limits are counted as shared.on_failure says")
                            ::register);
            meters.add(
                    Gauge.builder("isthmus.shared.recovering", servers, it -> it.recovering() ? 1 : 0)
                                    .description(
                                            "1 if the Redis server answers again, but not yet for as long as shared.recovery says")
                            ::register);
        }

        void failed(boolean timeout) {
            (timeout ? timeouts : failed).increment();
        }

        @Override
        public void close() {
            meters.close();
        }
    }
}
