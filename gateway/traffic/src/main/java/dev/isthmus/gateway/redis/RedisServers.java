package dev.isthmus.gateway.redis;

import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.SharedConfig;
import dev.isthmus.gateway.settings.TlsFiles;
import dev.isthmus.gateway.settings.TlsFiles.KeyedCertificate;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.MaintNotificationsConfig;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisCredentials;
import io.lettuce.core.RedisCredentialsProvider;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SocketOptions;
import io.lettuce.core.SslOptions;
import io.lettuce.core.TimeoutOptions;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.cluster.ClusterClientOptions;
import io.lettuce.core.cluster.ClusterTopologyRefreshOptions;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.SlotHash;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.cluster.models.partitions.Partitions;
import io.lettuce.core.cluster.models.partitions.RedisClusterNode;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.metrics.CommandLatencyRecorder;
import io.lettuce.core.protocol.CommandHandler;
import io.lettuce.core.protocol.ProtocolVersion;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.DefaultClientResources;
import io.lettuce.core.resource.NettyCustomizer;
import io.lettuce.core.sentinel.api.StatefulRedisSentinelConnection;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.concurrent.ImmediateEventExecutor;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The servers of a configuration, and how to find the one to connect to: one that has a name or an address, the master
 * that sentinels name, asked for before each connection, and now and then while there is one, or a cluster. Thread-safe;
 * never blocks unless stated.
 */
final class RedisServers implements AutoCloseable {
    static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(1);
    /** Also, a node that redirects a command has the slots read again. */
    private static final Duration REFRESH = Duration.ofSeconds(30);
    /** Commands whose answers are awaited. */
    private static final int MAX_COMMANDS = 50_000;

    private static final long SHUTDOWN_MILLIS = 2_000;

    private final SharedConfig config;
    /** Empty if there are none. */
    private final List<Endpoint> sentinels;
    /** The name that the sentinels know it by. */
    private final String master;

    /** All that were opened, also those that are not connected yet. One that is added after its end is closed. */
    private final ChannelGroup channels = new DefaultChannelGroup(ImmediateEventExecutor.INSTANCE, true);

    private final ClientResources resources;
    private final RedisClient client;
    /** Null if the servers are no cluster. */
    private final @Nullable RedisClusterClient cluster;
    /** Index of the sentinel that has answered last. */
    private volatile int first;

    private volatile boolean closed;

    /** @param refused receives why a connection was closed by {@link AnswerCheck} */
    RedisServers(SharedConfig config, Consumer<String> refused) {
        this.config = config;
        this.sentinels =
                config.sentinel() == null ? List.of() : config.sentinel().endpoints();
        this.master = config.sentinel() == null ? "" : config.sentinel().master();
        this.resources = DefaultClientResources.builder()
                .ioThreadPoolSize(DefaultClientResources.MIN_IO_THREADS)
                .computationThreadPoolSize(DefaultClientResources.MIN_COMPUTATION_THREADS)
                .commandLatencyRecorder(CommandLatencyRecorder.disabled())
                .nettyCustomizer(new CheckedAnswers(refused, channels))
                .build();
        this.client = RedisClient.create(resources);
        client.setOptions(options());
        this.cluster = config.sentinel() == null && config.url() == null ? clusterClient(config.cluster()) : null;
    }

    /** Finds the server and connects to it, within a limited time. */
    CompletionStage<RedisLink> connect() {
        RedisClusterClient nodes = cluster;
        return nodes == null
                ? server().thenCompose(server -> client.connectAsync(StringCodec.UTF8, address(server))
                        .thenApply(connection -> new RedisLink(connection, connection.async(), server)))
                // Which node has which slots is read again if a node says otherwise.
                : nodes.refreshPartitionsAsync()
                        .thenCompose(known -> nodes.connectAsync(StringCodec.UTF8))
                        .thenApply(connection -> new RedisLink(connection, connection.async(), null));
    }

    /** Whether another server than the one of this connection is to be used now. */
    CompletionStage<Boolean> isElsewhere(RedisLink link) {
        return sentinels.isEmpty()
                ? CompletableFuture.completedFuture(false)
                : server().thenApply(server -> !server.equals(link.server()));
    }

    private CompletableFuture<Endpoint> server() {
        return sentinels.isEmpty()
                ? CompletableFuture.completedFuture(config.server())
                : master(first, sentinels.size());
    }

    /**
     * Asks one sentinel after the other.
     *
     * @param index which is asked first
     * @param left how many are asked at most
     */
    private CompletableFuture<Endpoint> master(int index, int left) {
        return client.connectSentinelAsync(StringCodec.UTF8, sentinel(sentinels.get(index)))
                .thenCompose(this::ask)
                .toCompletableFuture()
                .whenComplete((server, failure) -> first = failure == null ? index : first)
                .exceptionallyCompose(failure -> left > 1 && !closed
                        ? master((index + 1) % sentinels.size(), left - 1)
                        : CompletableFuture.failedFuture(failure));
    }

    private CompletionStage<Endpoint> ask(StatefulRedisSentinelConnection<String, String> sentinel) {
        return sentinel.async()
                .getMasterAddrByName(master)
                .toCompletableFuture()
                .orTimeout(CONNECT_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS)
                .whenComplete((address, failure) -> sentinel.closeAsync())
                .thenCompose(this::endpoint);
    }

    private CompletionStage<Endpoint> endpoint(@Nullable SocketAddress address) {
        return address instanceof InetSocketAddress at
                ? CompletableFuture.completedFuture(new Endpoint(at.getHostString(), at.getPort()))
                : CompletableFuture.failedFuture(new IOException("no sentinel knows the master '" + master + "'"));
    }

    private RedisClusterClient clusterClient(List<Endpoint> nodes) {
        RedisClusterClient made = RedisClusterClient.create(
                resources, nodes.stream().map(this::address).toList());
        made.setOptions(ClusterClientOptions.builder(options())
                .topologyRefreshOptions(ClusterTopologyRefreshOptions.builder()
                        .enablePeriodicRefresh(REFRESH)
                        .build())
                .build());
        return made;
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
    private RedisURI address(Endpoint server) {
        return address(server, config.user(), config.passwordFile())
                .withDatabase(config.database())
                .build();
    }

    private RedisURI sentinel(Endpoint server) {
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

    /** Ends all connections and their threads. Blocks briefly. */
    @Override
    public void close() {
        closed = true;
        // Before the event loops end: the client releases a connection's buffer only if the loop still runs.
        channels.close().awaitUninterruptibly(SHUTDOWN_MILLIS);
        client.shutdown(Duration.ZERO, CONNECT_TIMEOUT);
        if (cluster != null) {
            cluster.shutdown(Duration.ZERO, CONNECT_TIMEOUT);
        }
        resources.shutdown(0, CONNECT_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS).awaitUninterruptibly(SHUTDOWN_MILLIS);
    }

    /** Puts the check in front of the handler that reads answers. */
    private record CheckedAnswers(Consumer<String> refused, ChannelGroup channels) implements NettyCustomizer {
        @Override
        public void afterChannelInitialized(Channel channel) {
            channels.add(channel);
            String reader = channel.pipeline().context(CommandHandler.class).name();
            channel.pipeline().addBefore(reader, "answers", new AnswerCheck(refused));
        }
    }

    /**
     * Checks answers before the client reads them: it allocates what an answer declares, without a limit, and keeps what it
     * did not ask for. Closes the connection at the first answer that is none.
     */
    static final class AnswerCheck extends ChannelDuplexHandler {
        private final AnswerGrammar grammar = new AnswerGrammar();
        private final Consumer<String> refused;
        private boolean closing;

        /** @param refused receives what is wrong with an answer, before the connection is closed */
        AnswerCheck(Consumer<String> refused) {
            this.refused = refused;
        }

        @Override
        public void write(ChannelHandlerContext ctx, Object commands, ChannelPromise promise) {
            grammar.asked(commands instanceof Collection<?> several ? several.size() : 1);
            ctx.write(commands, promise);
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            if (!closing && ((ByteBuf) message).forEachByte(grammar) < 0) {
                ctx.fireChannelRead(message);
                return;
            }
            ReferenceCountUtil.release(message);
            if (!closing) {
                closing = true;
                refused.accept(grammar.problem());
                ctx.close();
            }
        }
    }

    /**
     * An open connection to a server, or to the nodes of a cluster, each made when a command needs it. Thread-safe; never
     * blocks.
     *
     * @param server where it is; null for a cluster
     */
    record RedisLink(
            StatefulConnection<String, String> connection,
            RedisClusterAsyncCommands<String, String> commands,
            @Nullable Endpoint server) {
        /** With a prefix that has a hash tag, all keys are on one node, and none is found on the others. */
        private static final int MAX_TAGS = 1024;

        /** Whether commands can be sent. Those to a cluster say whether the nodes are connected that they go to. */
        boolean isOpen() {
            return server == null || connection.isOpen();
        }

        /**
         * Keys that together are stored on all servers that commands may go to.
         *
         * @param start start of the keys
         */
        Collection<String> keysOnAll(String start) {
            if (!(connection instanceof StatefulRedisClusterConnection<String, String> cluster)) {
                return Set.of(start);
            }
            Partitions nodes = cluster.getPartitions();
            Set<String> missing = new HashSet<>();
            for (RedisClusterNode node : nodes) {
                if (node.getRole().isUpstream() && !node.hasNoSlots()) {
                    missing.add(node.getNodeId());
                }
            }
            List<String> keys = new ArrayList<>();
            for (int tag = 0; tag < MAX_TAGS && !missing.isEmpty(); tag++) {
                String key = start + "{" + tag + "}";
                RedisClusterNode node = nodes.getPartitionBySlot(SlotHash.getSlot(key));
                if (node == null || missing.remove(node.getNodeId())) {
                    keys.add(key);
                }
            }
            return keys;
        }
    }
}
