package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.upstream.InProcessServer;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ModelRef;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * One server of a cluster as others see it, at one time.
 *
 * @param upstream the cluster's name
 * @param label host and port as configured and resolved: for operators, never for clients
 * @param server takes questions meant for this server alone
 * @param asked whether it was asked at all
 * @param ready whether it said so when it was last asked; true before that
 * @param reason why it is not ready; empty where it is
 * @param models which of the configured models are ready on it, as far as they were asked for
 * @param ejected whether it gets no calls for a while because its calls failed
 */
public record ReplicaStatus(
        String upstream,
        String label,
        Upstream server,
        boolean asked,
        boolean ready,
        String reason,
        Map<ModelRef, Boolean> models,
        boolean ejected) {

    public ReplicaStatus {
        models = Map.copyOf(models);
    }

    /**
     * The servers of an upstream, on any thread: what active checks found of those of a cluster; a server in this process
     * as it is now.
     *
     * @param checked the models that are configured by name, as a server in this process knows them
     */
    public static List<ReplicaStatus> of(Upstream upstream, Set<ModelRef> checked) {
        return switch (upstream) {
            case Cluster cluster -> cluster.members();
            case InProcessServer server -> List.of(inProcess(server, checked));
            default -> List.of(unchecked(upstream));
        };
    }

    private static ReplicaStatus inProcess(InProcessServer server, Set<ModelRef> checked) {
        Map<ModelRef, Boolean> models = HashMap.newHashMap(checked.size());
        checked.forEach(model -> models.put(model, server.ready(model)));
        boolean ready = server.ready();
        String reason = ready ? "" : "it says that it is not ready";
        return new ReplicaStatus(server.name(), server.name(), server, true, ready, reason, models, false);
    }

    private static ReplicaStatus unchecked(Upstream upstream) {
        return new ReplicaStatus(upstream.name(), upstream.name(), upstream, false, true, "", Map.of(), false);
    }
}
