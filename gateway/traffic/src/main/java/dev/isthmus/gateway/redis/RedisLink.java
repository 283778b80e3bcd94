package dev.isthmus.gateway.redis;

import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import java.util.Collection;

/** An open connection to a server, or to those of a cluster. Thread-safe; never blocks. */
interface RedisLink {

    RedisClusterAsyncCommands<String, String> commands();

    /** Whether commands can be sent. */
    boolean isOpen();

    /**
     * Keys that together are stored on all servers that commands may go to.
     *
     * @param start start of the keys
     */
    Collection<String> keysOnAll(String start);

    /** Ends the connection. */
    void close();
}
