package dev.isthmus.gateway.redis;

import dev.isthmus.gateway.settings.SharedConfig;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.codec.StringCodec;
import java.util.concurrent.CompletionStage;

/** A Redis Cluster. Which node has which slots is read before each connection, and again if a node says otherwise. */
final class ClusterServers implements RedisServers {
    private final RedisClients clients;
    private final RedisClusterClient client;

    ClusterServers(SharedConfig config, RedisClients clients) {
        this.clients = clients;
        this.client = clients.clusterClient(config.cluster());
    }

    @Override
    public CompletionStage<RedisLink> connect() {
        return client.refreshPartitionsAsync()
                .thenCompose(known -> client.connectAsync(StringCodec.UTF8))
                .thenApply(ClusterLink::new);
    }

    @Override
    public void close() {
        clients.shutDown(client);
    }
}
