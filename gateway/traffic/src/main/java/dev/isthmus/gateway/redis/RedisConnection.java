package dev.isthmus.gateway.redis;

import dev.isthmus.gateway.net.FailureReason;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.gateway.settings.SharedConfig;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.MaintNotificationsConfig;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisCredentials;
import io.lettuce.core.RedisCredentialsProvider;
import io.lettuce.core.RedisNoScriptException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.SocketOptions;
import io.lettuce.core.SslOptions;
import io.lettuce.core.TimeoutOptions;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.async.RedisAsyncCommands;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.metrics.CommandLatencyRecorder;
import io.lettuce.core.protocol.CommandHandler;
import io.lettuce.core.protocol.ProtocolVersion;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.DefaultClientResources;
import io.lettuce.core.resource.NettyCustomizer;
import io.netty.channel.Channel;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
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
 * The connection to the server, on threads of its own. It is checked four times a second, and made again when it was
 * lost or the server has not answered for a while. Thread-safe; never blocks unless stated.
 */
final class RedisConnection implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(RedisConnection.class);
    private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(1);
    private static final long CHECK_MILLIS = 250;
    private static final long FIRST_BACKOFF = TimeUnit.MILLISECONDS.toNanos(250);
    private static final long LONGEST_BACKOFF = TimeUnit.SECONDS.toNanos(4);
    /** A server that has not answered for this long may have moved. */
    private static final long SILENCE = TimeUnit.SECONDS.toNanos(2);

    private static final long LATE = TimeUnit.MILLISECONDS.toNanos(20);
    /** Commands whose answers are awaited. */
    private static final int MAX_COMMANDS = 50_000;

    private final SharedConfig config;
    private final RedisMeters meters;
    private final ClientResources resources;
    private final RedisClient client;
    private final ScheduledThreadPoolExecutor timer =
            new ScheduledThreadPoolExecutor(1, new DefaultThreadFactory("isthmus-redis", true));
    private final ConnectionAttempts attempts = new ConnectionAttempts();
    private final ServerAvailability availability = new ServerAvailability(System::nanoTime);

    private volatile @Nullable StatefulRedisConnection<String, String> connection;
    /** Whether it was ever reported as lost. */
    private boolean reported;

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
        resources = DefaultClientResources.builder()
                .ioThreadPoolSize(DefaultClientResources.MIN_IO_THREADS)
                .computationThreadPoolSize(DefaultClientResources.MIN_COMPUTATION_THREADS)
                .commandLatencyRecorder(CommandLatencyRecorder.disabled())
                .nettyCustomizer(new CheckedAnswers())
                .build();
        client = RedisClient.create(resources);
        client.setOptions(options(config));
        meters.show(this);
    }

    /** Puts the check in front of the handler that reads answers. */
    private final class CheckedAnswers implements NettyCustomizer {
        @Override
        public void afterChannelInitialized(Channel channel) {
            String reader = channel.pipeline().context(CommandHandler.class).name();
            channel.pipeline()
                    .addBefore(
                            reader, "answers", new AnswerCheck(what -> noAnswer(new IOException("it sends " + what))));
        }
    }

    private static ClientOptions options(SharedConfig config) {
        SslOptions.Builder tls = SslOptions.builder().jdkSslProvider();
        if (config.ca() != null) {
            tls.trustManager(config.ca().toFile());
        }
        return ClientOptions.builder()
                .autoReconnect(false)
                .disconnectedBehavior(ClientOptions.DisconnectedBehavior.REJECT_COMMANDS)
                .requestQueueSize(MAX_COMMANDS)
                .protocolVersion(ProtocolVersion.RESP2)
                .maintNotificationsConfig(MaintNotificationsConfig.disabled())
                .socketOptions(SocketOptions.builder()
                        .connectTimeout(CONNECT_TIMEOUT)
                        .keepAlive(true)
                        .build())
                .sslOptions(tls.build())
                .timeoutOptions(TimeoutOptions.create())
                .build();
    }

    private RedisURI address() {
        RedisURI.Builder address = RedisURI.Builder.redis(config.host(), config.port())
                .withDatabase(config.database())
                .withSsl(config.secure())
                .withVerifyPeer(true)
                .withClientName("isthmus")
                .withTimeout(CONNECT_TIMEOUT);
        Path password = config.passwordFile();
        if (password != null) {
            String user = config.user();
            address.withAuthentication(RedisCredentialsProvider.from(
                    () -> RedisCredentials.just(user, read(password).toCharArray())));
        }
        return address.build();
    }

    private static String read(Path file) {
        try {
            return Files.readString(file).strip();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Connects, and keeps the connection from here on. Blocks for a second at most. */
    void open() {
        try {
            connect().get(CONNECT_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException failed) {
            noAnswer(failed);
        } catch (TimeoutException notYet) {
            noAnswer(new TimeoutException("no connection in " + CONNECT_TIMEOUT.toMillis() + " ms"));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        timer.scheduleWithFixedDelay(this::check, CHECK_MILLIS, CHECK_MILLIS, TimeUnit.MILLISECONDS);
    }

    private CompletableFuture<?> connect() {
        attempts.begin();
        return client.connectAsync(StringCodec.UTF8, address())
                .toCompletableFuture()
                .whenComplete((made, failure) -> {
                    if (made == null) {
                        noAnswer(failure);
                    } else {
                        connection = made;
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
        StatefulRedisConnection<String, String> current = connection;
        if (current == null || !current.isOpen()) {
            if (current != null) {
                noAnswer(new IOException("the connection was closed"));
            }
            if (attempts.due()) {
                connect();
            }
            return;
        }
        within(current.async().ping(), late -> {}).whenComplete((pong, failure) -> {
            if (failure == null) {
                answer();
            } else {
                noAnswer(failure);
            }
        });
        if (availability.silentFor(SILENCE)) {
            connection = null;
            current.closeAsync();
        }
    }

    /** Whether the server answers. */
    boolean answers() {
        return availability.answers();
    }

    private synchronized void answer() {
        if (availability.inTime()) {
            LOG.atInfo()
                    .addMarker(RepeatingLogEvent.MARKER)
                    .log("Redis at {}:{} answers; limits and ramps are shared", config.host(), config.port());
        }
    }

    private synchronized void noAnswer(Throwable thrown) {
        Throwable failure = cause(thrown);
        boolean lost = failure instanceof TimeoutException ? availability.late() : availability.failed();
        if (!lost && (reported || availability.answers())) {
            return;
        }
        reported = true;
        LOG.atWarn()
                .addMarker(RepeatingLogEvent.MARKER)
                .log(
                        "Redis at {}:{} does not answer ({}); until it does, limits are counted as "
                                + "shared.on_failure says ({}), and ramps stay at their steps",
                        config.host(),
                        config.port(),
                        FailureReason.of(failure),
                        config.onFailure().name().toLowerCase(Locale.ROOT));
    }

    private static Throwable cause(Throwable thrown) {
        Throwable cause = thrown.getCause();
        boolean wrapped = thrown instanceof CompletionException || thrown instanceof ExecutionException;
        return wrapped && cause != null ? cause : thrown;
    }

    /**
     * Runs a script on a key.
     *
     * @param read reads its answer; one that it cannot read counts as none
     * @param late receives an answer that comes after the time limit
     */
    <T> CompletableFuture<T> run(
            RedisScript script, String key, Function<List<Object>, T> read, Consumer<T> late, String... arguments) {
        StatefulRedisConnection<String, String> current = connection;
        if (current == null || !answers()) {
            return CompletableFuture.failedFuture(new IOException("Redis does not answer"));
        }
        return within(evaluate(current.async(), script, key, arguments).thenApply(answer -> read(answer, read)), late)
                .whenComplete((answer, failure) -> {
                    if (failure == null) {
                        meters.answered();
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
            LOG.atWarn()
                    .addMarker(RepeatingLogEvent.MARKER)
                    .log("Redis at {}:{} refuses a command: {}", config.host(), config.port(), refused.getMessage());
        } else {
            noAnswer(failure);
        }
    }

    private static CompletionStage<List<Object>> evaluate(
            RedisAsyncCommands<String, String> commands, RedisScript script, String key, String... arguments) {
        String[] keys = {key};
        return commands.<List<Object>>evalsha(script.digest(), ScriptOutputType.MULTI, keys, arguments)
                .exceptionallyCompose(failure -> isUnknownScript(failure)
                        ? commands.eval(script.text(), ScriptOutputType.MULTI, keys, arguments)
                        : CompletableFuture.failedFuture(failure));
    }

    private static boolean isUnknownScript(Throwable failure) {
        return cause(failure) instanceof RedisNoScriptException;
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
        boolean late = System.nanoTime() - due > LATE;
        if (late && !result.isDone()) {
            // This process did not run, and the answer may be there.
            later(() -> result.completeExceptionally(timeout()), LATE);
        } else {
            result.completeExceptionally(timeout());
        }
    }

    private TimeoutException timeout() {
        return new TimeoutException("no answer in " + config.timeout().toMillis() + " ms");
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
        client.shutdown(Duration.ZERO, CONNECT_TIMEOUT);
        resources.shutdown(0, CONNECT_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS).awaitUninterruptibly(2_000);
        meters.close();
    }
}
