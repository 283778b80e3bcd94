package dev.isthmus.gateway.catalogue;

import dev.isthmus.gateway.settings.GatewayConfig.ServerReadyPolicy;
import java.util.List;
import java.util.Map;

/**
 * Whether the gateway calls itself ready to V2 clients, to whom the servers behind it are one server.
 *
 * @param reason why it is not; empty when it is ready
 * @param missing the servers or models that would have to be for it, sorted; empty when it is ready
 */
public record ReadinessReport(boolean ready, String reason, List<String> missing) {
    private static final ReadinessReport READY = new ReadinessReport(true, "", List.of());

    public ReadinessReport {
        missing = List.copyOf(missing);
    }

    /**
     * Judges the states.
     *
     * @param servers by name, whether each is ready
     * @param models by name, whether each configured model is ready as its own policy has it
     */
    static ReadinessReport of(ServerReadyPolicy policy, Map<String, Boolean> servers, Map<String, Boolean> models) {
        return switch (policy) {
            case ANY -> any(servers);
            case ALL -> servers.isEmpty() ? any(servers) : all("upstreams without a server that is ready: ", servers);
            case MODELS -> models.isEmpty() ? any(servers) : all("models that are not ready: ", models);
        };
    }

    private static ReadinessReport any(Map<String, Boolean> states) {
        return states.containsValue(true) ? READY : lacks("no upstream has a server that is ready: ", notReady(states));
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
