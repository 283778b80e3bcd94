package dev.isthmus.gateway.catalogue;

import java.util.List;
import java.util.Map;

/** When the gateway calls itself ready to V2 clients, to whom the servers behind it are one server. */
public enum ServerReadiness {
    /** One server is enough. */
    ANY,
    /** Every server must be; without a server the gateway is not ready. */
    ALL,
    /** Every configured model must be, as its own policy has it; where none is configured, one server is enough. */
    MODELS;

    /**
     * Judges the states.
     *
     * @param servers by name, whether each is ready
     * @param models by name, whether each configured model is ready ({@link ModelReadiness})
     */
    public ReadinessReport judge(Map<String, Boolean> servers, Map<String, Boolean> models) {
        return switch (this) {
            case ANY -> any(servers);
            case ALL -> servers.isEmpty() ? any(servers) : all("upstreams without a server that is ready: ", servers);
            case MODELS -> models.isEmpty() ? any(servers) : all("models that are not ready: ", models);
        };
    }

    private static ReadinessReport any(Map<String, Boolean> states) {
        return states.containsValue(true)
                ? ReadinessReport.READY
                : ReadinessReport.missing("no upstream has a server that is ready: ", missing(states));
    }

    private static ReadinessReport all(String what, Map<String, Boolean> states) {
        List<String> missing = missing(states);
        return missing.isEmpty() ? ReadinessReport.READY : ReadinessReport.missing(what, missing);
    }

    private static List<String> missing(Map<String, Boolean> states) {
        return states.entrySet().stream()
                .filter(state -> !state.getValue())
                .map(Map.Entry::getKey)
                .sorted()
                .toList();
    }

    /**
     * Whether the gateway is ready.
     *
     * @param reason why it is not; empty when it is ready
     * @param missing the servers or models that would have to be for it, sorted; empty when it is ready
     */
    public record ReadinessReport(boolean ready, String reason, List<String> missing) {
        static final ReadinessReport READY = new ReadinessReport(true, "", List.of());

        static ReadinessReport missing(String what, List<String> names) {
            return new ReadinessReport(false, MetadataLimits.reason(what + String.join(", ", names)), names);
        }

        public ReadinessReport {
            missing = List.copyOf(missing);
        }
    }
}
