package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ModelRef;
import java.util.Map;

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
}
