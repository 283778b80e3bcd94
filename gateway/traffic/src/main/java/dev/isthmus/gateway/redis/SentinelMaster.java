package dev.isthmus.gateway.redis;

import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.SharedConfig;
import io.lettuce.core.RedisClient;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.sentinel.api.StatefulRedisSentinelConnection;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The master that sentinels name, asked for before each connection, and now and then while there is one. */
final class SentinelMaster implements RedisServers {
    private final String name;
    private final List<Endpoint> sentinels;
    private final RedisClients clients;
    private final RedisClient client;
    /** Index of the one that has answered last. */
    private volatile int first;

    private volatile boolean closed;

    SentinelMaster(SharedConfig config, SharedConfig.SentinelConfig sentinel, RedisClients clients) {
        this.name = sentinel.master();
        this.sentinels = sentinel.endpoints();
        this.clients = clients;
        this.client = clients.client();
    }

    @Override
    public CompletionStage<RedisLink> connect() {
        return master(first, sentinels.size())
                .thenCompose(server -> client.connectAsync(StringCodec.UTF8, clients.address(server))
                        .thenApply(connection -> new ServerLink(connection, server)));
    }

    @Override
    public CompletionStage<Boolean> isElsewhere(RedisLink link) {
        return master(first, sentinels.size())
                .thenApply(
                        server -> !(link instanceof ServerLink to && to.server().equals(server)));
    }

    /**
     * Asks one sentinel after the other.
     *
     * @param index which is asked first
     * @param left how many are asked at most
     */
    private CompletableFuture<Endpoint> master(int index, int left) {
        return ask(sentinels.get(index))
                .whenComplete((server, failure) -> first = failure == null ? index : first)
                .exceptionallyCompose(failure -> left > 1 && !closed
                        ? master((index + 1) % sentinels.size(), left - 1)
                        : CompletableFuture.failedFuture(failure));
    }

    private CompletableFuture<Endpoint> ask(Endpoint sentinel) {
        return client.connectSentinelAsync(StringCodec.UTF8, clients.sentinel(sentinel))
                .thenCompose(this::ask)
                .toCompletableFuture();
    }

    private CompletionStage<Endpoint> ask(StatefulRedisSentinelConnection<String, String> sentinel) {
        return sentinel.async()
                .getMasterAddrByName(name)
                .toCompletableFuture()
                .orTimeout(RedisClients.CONNECT_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS)
                .whenComplete((address, failure) -> sentinel.closeAsync())
                .thenCompose(this::endpoint);
    }

    private CompletionStage<Endpoint> endpoint(@Nullable SocketAddress address) {
        return address instanceof InetSocketAddress at
                ? CompletableFuture.completedFuture(new Endpoint(at.getHostString(), at.getPort()))
                : CompletableFuture.failedFuture(new IOException("no sentinel knows the master '" + name + "'"));
    }

    @Override
    public void close() {
        closed = true;
        clients.shutDown(client);
    }
}
