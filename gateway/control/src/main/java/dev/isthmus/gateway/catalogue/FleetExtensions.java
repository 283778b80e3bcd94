package dev.isthmus.gateway.catalogue;

import dev.isthmus.oip.ServerMetadata;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** The extensions that a client can count on, whichever server of the fleet its model is on. */
public final class FleetExtensions {
    /** What the servers do and the gateway passes on: each of them must have it. In Triton's order. */
    private static final List<String> PASSED = List.of(
            "classification",
            "sequence",
            "model_repository(unload_dependents)",
            "schedule_policy",
            "model_configuration",
            "system_shared_memory",
            "cuda_shared_memory",
            "parameters",
            "trace",
            "logging",
            "generate");
    /** What the gateway makes of the answers of those servers that have it: one is enough. */
    private static final List<String> MERGED = List.of("model_repository", "statistics");
    /** What the gateway does for every server. */
    private static final String BINARY = "binary_tensor_data";

    private FleetExtensions() {}

    /**
     * The gateway's metadata.
     *
     * @param self the gateway's name, version and own extensions, which come first
     * @param servers those that have said what they have; one that never answered is left out, since calls to it fail anyway
     */
    public static ServerMetadata of(ServerMetadata self, Collection<ServerExtensions> servers) {
        Set<String> extensions = new LinkedHashSet<>(self.extensions());
        extensions.add(BINARY);
        List<Set<String>> known = servers.stream().map(ServerExtensions::known).toList();
        for (String name : MERGED) {
            if (known.stream().anyMatch(server -> server.contains(name))) {
                extensions.add(name);
            }
        }
        for (String name : PASSED) {
            if (!known.isEmpty() && known.stream().allMatch(server -> server.contains(name))) {
                extensions.add(name);
            }
        }
        return new ServerMetadata(self.name(), self.version(), List.copyOf(extensions));
    }
}
