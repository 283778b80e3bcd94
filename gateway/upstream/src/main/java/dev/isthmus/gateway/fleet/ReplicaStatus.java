package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.local.LocalUpstream;
import dev.isthmus.oip.ModelRef;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A snapshot of one server of a cluster.
 *
 * @param upstream the cluster's name
 * @param label host and port as configured and resolved: for operators, never for clients
 * @param server sends requests to this server only
 * @param checked whether it was checked at all
 * @param ready the result of the last check; true before the first, and false while it is drained
 * @param reason why it is not ready; empty if it is
 * @param models which of the checked models are ready on it
 * @param ejected whether it is ejected because its calls failed
 * @param drained whether operators have taken it out of service, as the reason says
 */
public record ReplicaStatus(
        String upstream,
        String label,
        Upstream server,
        boolean checked,
        boolean ready,
        String reason,
        Map<ModelRef, Boolean> models,
        boolean ejected,
        boolean drained) {

    public ReplicaStatus {
        models = Map.copyOf(models);
    }

    /**
     * The servers of an upstream, on any thread: for a cluster, the results of active checks; for an in-process server,
     * its current state.
     *
     * @param checked the models configured by name, as known to an in-process server
     */
    public static List<ReplicaStatus> of(Upstream upstream, Set<ModelRef> checked) {
        return switch (upstream) {
            case Cluster cluster -> cluster.replicas().members();
            case LocalUpstream server -> List.of(inProcess(server, checked));
            default -> List.of(unchecked(upstream));
        };
    }

    private static ReplicaStatus inProcess(LocalUpstream server, Set<ModelRef> checked) {
        Map<ModelRef, Boolean> models = HashMap.newHashMap(checked.size());
        checked.forEach(model -> models.put(model, server.ready(model)));
        String reason = server.obstacle();
        return new ReplicaStatus(
                server.name(), server.name(), server, true, reason.isEmpty(), reason, models, false, false);
    }

    private static ReplicaStatus unchecked(Upstream upstream) {
        return new ReplicaStatus(upstream.name(), upstream.name(), upstream, false, true, "", Map.of(), false, false);
    }
}
