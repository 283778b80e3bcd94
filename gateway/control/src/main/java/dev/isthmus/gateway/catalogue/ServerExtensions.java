package dev.isthmus.gateway.catalogue;

import dev.isthmus.gateway.extension.Extension;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The extensions of one server.
 *
 * @param names as reported by the server
 * @param sharedMemory whether clients may use shared memory with it
 */
public record ServerExtensions(List<String> names, boolean sharedMemory) {
    private static final String REPOSITORY = Extension.REPOSITORY_INDEX.advertisedName();

    public ServerExtensions {
        names = List.copyOf(names);
    }

    /** The protocol's names, in the server's order; KServe reports "model_repository_extension". */
    Set<String> known() {
        return names.stream()
                .map(name -> name.equals("model_repository_extension") ? REPOSITORY : name)
                .filter(name -> sharedMemory || !name.endsWith("shared_memory"))
                .collect(Collectors.toCollection(LinkedHashSet::new));
    }
}
