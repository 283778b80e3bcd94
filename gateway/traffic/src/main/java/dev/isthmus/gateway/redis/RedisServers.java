package dev.isthmus.gateway.redis;

import dev.isthmus.gateway.settings.SharedConfig;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** The servers of a configuration, and how to find the one to connect to. Thread-safe; never blocks unless stated. */
interface RedisServers extends AutoCloseable {

    /** Those of a configuration: one server, the master of sentinels, or a cluster. */
    static RedisServers of(SharedConfig config, RedisClients clients) {
        if (config.sentinel() != null) {
            return new SentinelMaster(config, config.sentinel(), clients);
        }
        return config.url() == null ? new ClusterServers(config, clients) : new OneServer(config, clients);
    }

    /** Finds the server and connects to it, within a limited time. */
    CompletionStage<RedisLink> connect();

    /** Whether another server than the one of this connection is to be used now. */
    default CompletionStage<Boolean> isElsewhere(RedisLink link) {
        return CompletableFuture.completedFuture(false);
    }

    /** Ends all connections. Blocks briefly. */
    @Override
    void close();
}
