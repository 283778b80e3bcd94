package dev.isthmus.gateway.peers;

import java.util.List;
import java.util.Map;

/**
 * What is wrong with the gateways of a deployment beside each other.
 *
 * @param gateways how many there are
 * @param unreachable why a gateway cannot be reached, by its address
 * @param otherConfiguration the gateways whose configuration is not that of most
 * @param sections in which their configurations differ
 * @param otherVersion the gateways whose version is not that of most
 */
public record PeerFindings(
        int gateways,
        Map<String, String> unreachable,
        List<String> otherConfiguration,
        List<String> sections,
        List<String> otherVersion) {
    public static final PeerFindings NONE = new PeerFindings(0, Map.of(), List.of(), List.of(), List.of());

    public PeerFindings {
        unreachable = Map.copyOf(unreachable);
        otherConfiguration = List.copyOf(otherConfiguration);
        sections = List.copyOf(sections);
        otherVersion = List.copyOf(otherVersion);
    }
}
