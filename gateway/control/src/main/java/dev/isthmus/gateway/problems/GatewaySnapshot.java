package dev.isthmus.gateway.problems;

import dev.isthmus.gateway.fleet.ReplicaStatus;
import dev.isthmus.gateway.peers.PeerFindings;
import dev.isthmus.gateway.ramp.RampReport;
import dev.isthmus.gateway.reload.ReloadResult.LastReload;
import dev.isthmus.gateway.settings.GatewayConfig;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The state of the gateway at one moment, as far as it is not in meters.
 *
 * @param obstacle why the gateway is not ready; null if it is
 * @param servers all servers, as last checked
 * @param models whether each configured model is ready; without those that were not checked
 * @param drift the differences between the servers of a model, each with its server; without models that have none
 * @param lastReload null if there was none
 * @param excluded local models that are not loaded because they ran when their process crashed
 * @param peers how the gateways of the deployment differ
 */
public record GatewaySnapshot(
        GatewayConfig config,
        @Nullable String obstacle,
        List<ReplicaStatus> servers,
        Map<String, Boolean> models,
        Map<String, List<String>> drift,
        List<RampReport> ramps,
        @Nullable LastReload lastReload,
        Set<String> excluded,
        PeerFindings peers) {

    public GatewaySnapshot {
        servers = List.copyOf(servers);
        ramps = List.copyOf(ramps);
        excluded = Set.copyOf(excluded);
    }
}
