package dev.isthmus.gateway.catalogue;

import dev.isthmus.gateway.extension.Extension;
import dev.isthmus.oip.ServerMetadata;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The extensions that a client can rely on, whichever server of the fleet serves its model. */
public final class FleetExtensions {
    /**
     * Extensions implemented by the servers and forwarded by the gateway, besides management: every server must have
     * them.
     */
    private static final Set<String> INFERENCE = Set.of(
            "classification",
            "sequence",
            "model_repository(unload_dependents)",
            "schedule_policy",
            "parameters",
            "generate");
    /** Implemented by the gateway for every server. */
    private static final String BINARY = "binary_tensor_data";

    private FleetExtensions() {}

    /**
     * The gateway's metadata.
     *
     * @param self the gateway's name, version and own extensions, which come first
     * @param servers the known extensions of those that reported their extensions; a server that never responded is left out, since calls to it
     *     fail anyway
     */
    public static ServerMetadata of(ServerMetadata self, Collection<Set<String>> servers) {
        Set<String> extensions = new LinkedHashSet<>(self.extensions());
        extensions.add(BINARY);
        // Extensions whose responses the gateway merges: one server is enough.
        merged().filter(name -> servers.stream().anyMatch(server -> server.contains(name)))
                .forEach(extensions::add);
        // In the order of the first server.
        Set<String> passed = passed();
        servers.stream()
                .limit(1)
                .flatMap(Set::stream)
                .filter(passed::contains)
                .filter(name -> servers.stream().allMatch(server -> server.contains(name)))
                .forEach(extensions::add);
        return new ServerMetadata(self.name(), self.version(), List.copyOf(extensions));
    }

    /**
     * The protocol's names of a server's extensions, in its order; KServe has another one for the repository.
     *
     * @param names as reported by the server
     * @param sharedMemory whether clients may use shared memory with it
     */
    static Set<String> known(List<String> names, boolean sharedMemory) {
        return names.stream()
                .map(name -> RepositoryUpstreams.withoutIndex(name) ? RepositoryUpstreams.NAME : name)
                .filter(name -> sharedMemory || !name.endsWith("shared_memory"))
                .collect(Collectors.toCollection(LinkedHashSet::new));
    }

    private static Stream<String> merged() {
        return Stream.of(Extension.values())
                .filter(extension -> !extension.fanOut().forwardsResponse())
                .map(Extension::advertisedName)
                .distinct()
                .sorted();
    }

    private static Set<String> passed() {
        return Stream.concat(
                        INFERENCE.stream(),
                        Stream.of(Extension.values())
                                .filter(extension -> extension.fanOut().forwardsResponse())
                                .map(Extension::advertisedName))
                .collect(Collectors.toUnmodifiableSet());
    }
}
