package dev.isthmus.gateway.fleet.kubernetes;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * An EndpointSlice, {@code discovery.k8s.io/v1}.
 *
 * @param addressType IPv4, IPv6 or FQDN
 * @param ports TCP ports by name; a Service's only port may have an empty name
 */
record EndpointSlice(String addressType, Map<String, Integer> ports, List<SliceEndpoint> endpoints) {

    /**
     * One endpoint.
     *
     * @param usable whether it takes new calls: it is ready and not terminating
     * @param zones those that it is hinted for
     */
    record SliceEndpoint(String address, boolean usable, Set<String> zones) {}

    static EndpointSlice of(JsonNode slice) {
        Map<String, Integer> ports = new LinkedHashMap<>();
        for (JsonNode port : slice.path("ports")) {
            int number = port.path("port").asInt();
            if (number > 0 && port.path("protocol").asText("TCP").equals("TCP")) {
                ports.put(port.path("name").asText(""), number);
            }
        }
        List<SliceEndpoint> endpoints = new ArrayList<>();
        for (JsonNode endpoint : slice.path("endpoints")) {
            // All addresses of an endpoint are the same server; consumers use the first.
            String address = endpoint.path("addresses").path(0).asText("");
            if (!address.isEmpty()) {
                endpoints.add(new SliceEndpoint(address, usable(endpoint.path("conditions")), zones(endpoint)));
            }
        }
        return new EndpointSlice(slice.path("addressType").asText(), ports, endpoints);
    }

    /** A condition that is not given is unknown; "ready" is then to be taken as true. */
    private static boolean usable(JsonNode conditions) {
        return conditions.path("ready").asBoolean(true)
                && !conditions.path("terminating").asBoolean(false);
    }

    private static Set<String> zones(JsonNode endpoint) {
        Set<String> zones = new LinkedHashSet<>();
        endpoint.path("hints")
                .path("forZones")
                .forEach(zone -> zones.add(zone.path("name").asText()));
        return zones;
    }
}
