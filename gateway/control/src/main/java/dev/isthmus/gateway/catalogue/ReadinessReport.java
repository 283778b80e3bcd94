package dev.isthmus.gateway.catalogue;

import dev.isthmus.gateway.settings.GatewayConfig.ServerReadyPolicy;
import java.util.List;
import java.util.Map;

/**
 * Whether the gateway reports itself ready to V2 clients, which see all servers behind it as one.
 *
 * @param reason why it is not ready; empty if it is
 * @param missing the servers or models that are required but not ready, sorted; empty if it is ready
 */
public record ReadinessReport(boolean ready, String reason, List<String> missing) {
    private static final ReadinessReport READY = new ReadinessReport(true, "", List.of());

    public ReadinessReport {
        missing = List.copyOf(missing);
    }

    /**
     * Applies the policy.
     *
     * @param servers by upstream name, whether a server is ready
     * @param models by name, whether each configured model is ready by its own policy
     */
    static ReadinessReport of(ServerReadyPolicy policy, Map<String, Boolean> servers, Map<String, Boolean> models) {
        return switch (policy) {
            case ANY -> any(servers);
            case ALL -> servers.isEmpty() ? any(servers) : all("upstreams without a ready server: ", servers);
            case MODELS -> models.isEmpty() ? any(servers) : all("models not ready: ", models);
        };
    }

    private static ReadinessReport any(Map<String, Boolean> states) {
        return states.containsValue(true) ? READY : lacks("no upstream has a ready server: ", notReady(states));
    }

    private static ReadinessReport all(String what, Map<String, Boolean> states) {
        List<String> notReady = notReady(states);
        return notReady.isEmpty() ? READY : lacks(what, notReady);
    }

    private static List<String> notReady(Map<String, Boolean> states) {
        return states.entrySet().stream()
                .filter(state -> !state.getValue())
                .map(Map.Entry::getKey)
                .sorted()
                .toList();
    }

    private static ReadinessReport lacks(String what, List<String> names) {
        return new ReadinessReport(false, MetadataLimits.reason(what + String.join(", ", names)), names);
    }
}
