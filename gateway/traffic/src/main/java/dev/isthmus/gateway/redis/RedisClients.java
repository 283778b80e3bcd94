package dev.isthmus.gateway.redis;

import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.SharedConfig;
import dev.isthmus.gateway.settings.TlsFiles;
import dev.isthmus.gateway.settings.TlsFiles.KeyedCertificate;
import io.lettuce.core.AbstractRedisClient;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.MaintNotificationsConfig;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisCredentials;
import io.lettuce.core.RedisCredentialsProvider;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SocketOptions;
import io.lettuce.core.SslOptions;
import io.lettuce.core.TimeoutOptions;
import io.lettuce.core.cluster.ClusterClientOptions;
import io.lettuce.core.cluster.ClusterTopologyRefreshOptions;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.metrics.CommandLatencyRecorder;
import io.lettuce.core.protocol.CommandHandler;
import io.lettuce.core.protocol.ProtocolVersion;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.DefaultClientResources;
import io.lettuce.core.resource.NettyCustomizer;
import io.netty.channel.Channel;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Makes clients as a configuration says, and has their threads. */
final class RedisClients implements AutoCloseable {
    static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(1);
    /** Also, a node that redirects a command has the slots read again. */
    private static final Duration REFRESH = Duration.ofSeconds(30);
    /** Commands whose answers are awaited. */
    private static final int MAX_COMMANDS = 50_000;

    private static final long SHUTDOWN_MILLIS = 2_000;

    private final SharedConfig config;
    private final ClientResources resources;

    /** @param refused receives why a connection was closed by {@link AnswerCheck} */
    RedisClients(SharedConfig config, Consumer<String> refused) {
        this.config = config;
        resources = DefaultClientResources.builder()
                .ioThreadPoolSize(DefaultClientResources.MIN_IO_THREADS)
                .computationThreadPoolSize(DefaultClientResources.MIN_COMPUTATION_THREADS)
                .commandLatencyRecorder(CommandLatencyRecorder.disabled())
                .nettyCustomizer(new CheckedAnswers(refused))
                .build();
    }

    /** Puts the check in front of the handler that reads answers. */
    private record CheckedAnswers(Consumer<String> refused) implements NettyCustomizer {
        @Override
        public void afterChannelInitialized(Channel channel) {
            String reader = channel.pipeline().context(CommandHandler.class).name();
            channel.pipeline().addBefore(reader, "answers", new AnswerCheck(refused));
        }
    }

    RedisClient client() {
        RedisClient client = RedisClient.create(resources);
        client.setOptions(options());
        return client;
    }

    RedisClusterClient clusterClient(List<Endpoint> nodes) {
        RedisClusterClient client = RedisClusterClient.create(
                resources, nodes.stream().map(this::address).toList());
        client.setOptions(ClusterClientOptions.builder(options())
                .topologyRefreshOptions(ClusterTopologyRefreshOptions.builder()
                        .enablePeriodicRefresh(REFRESH)
                        .build())
                .build());
        return client;
    }

    private ClientOptions options() {
        SslOptions.Builder tls = SslOptions.builder().jdkSslProvider();
        if (config.ca() != null) {
            tls.trustManager(config.ca().toFile());
        }
        Path certificate = config.certificate();
        Path key = config.key();
        if (certificate != null && key != null) {
            // Called for each connection: a renewed certificate is used from the next one on.
            tls.sslContext(context -> {
                KeyedCertificate own = TlsFiles.keyed(certificate, key);
                context.keyManager(own.key(), own.chain());
            });
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

    /** The address of a server, with the credentials for it. */
    RedisURI address(Endpoint server) {
        return address(server, config.user(), config.passwordFile())
                .withDatabase(config.database())
                .build();
    }

    /** The address of a sentinel, with the credentials for it. */
    RedisURI sentinel(Endpoint server) {
        SharedConfig.SentinelConfig sentinel = config.sentinel();
        return sentinel == null
                ? address(server)
                : address(server, sentinel.user(), sentinel.passwordFile()).build();
    }

    private RedisURI.Builder address(Endpoint server, @Nullable String user, @Nullable Path password) {
        RedisURI.Builder address = RedisURI.Builder.redis(server.host(), server.port())
                .withSsl(config.secure())
                .withVerifyPeer(true)
                .withClientName("isthmus")
                .withTimeout(CONNECT_TIMEOUT);
        if (password != null) {
            address.withAuthentication(RedisCredentialsProvider.from(
                    () -> RedisCredentials.just(user, read(password).toCharArray())));
        }
        return address;
    }

    private static String read(Path file) {
        try {
            return Files.readString(file).strip();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Ends a client. Blocks briefly. */
    void shutDown(AbstractRedisClient client) {
        client.shutdown(Duration.ZERO, CONNECT_TIMEOUT);
    }

    /** Ends the threads. Blocks briefly. */
    @Override
    public void close() {
        resources.shutdown(0, CONNECT_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS).awaitUninterruptibly(SHUTDOWN_MILLIS);
    }
}
