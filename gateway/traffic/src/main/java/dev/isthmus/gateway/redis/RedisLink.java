package dev.isthmus.gateway.redis;

import dev.isthmus.gateway.settings.Endpoint;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.cluster.SlotHash;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.cluster.models.partitions.Partitions;
import io.lettuce.core.cluster.models.partitions.RedisClusterNode;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

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

    /** Ends the connection. */
    void close() {
        connection.closeAsync();
    }
}
