package dev.isthmus.gateway.redis;

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

/** The connections to the nodes of a cluster, each made when a command needs it. */
record ClusterLink(StatefulRedisClusterConnection<String, String> connection) implements RedisLink {
    /** With a prefix that has a hash tag, all keys are on one node, and none is found on the others. */
    private static final int MAX_TAGS = 1024;

    @Override
    public RedisClusterAsyncCommands<String, String> commands() {
        return connection.async();
    }

    /** The commands say whether the nodes are connected that they go to. */
    @Override
    public boolean isOpen() {
        return true;
    }

    @Override
    public Collection<String> keysOnAll(String start) {
        Partitions nodes = connection.getPartitions();
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

    @Override
    public void close() {
        connection.closeAsync();
    }
}
