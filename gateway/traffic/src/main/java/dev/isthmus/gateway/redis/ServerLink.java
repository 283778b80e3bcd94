package dev.isthmus.gateway.redis;

import dev.isthmus.gateway.settings.Endpoint;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import java.util.Collection;
import java.util.Set;

/**
 * A connection to one server.
 *
 * @param server where it is
 */
record ServerLink(StatefulRedisConnection<String, String> connection, Endpoint server) implements RedisLink {

    @Override
    public RedisClusterAsyncCommands<String, String> commands() {
        return connection.async();
    }

    @Override
    public boolean isOpen() {
        return connection.isOpen();
    }

    @Override
    public Collection<String> keysOnAll(String start) {
        return Set.of(start);
    }

    @Override
    public void close() {
        connection.closeAsync();
    }
}
