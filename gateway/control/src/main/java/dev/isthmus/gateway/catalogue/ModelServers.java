package dev.isthmus.gateway.catalogue;

import dev.isthmus.gateway.routing.Target;
import dev.isthmus.oip.ModelRef;
import java.util.ArrayList;
import java.util.List;

/** Which servers are asked about a model. Used on the catalogue's loop. */
final class ModelServers {
    /** Servers that are asked because a client wants to know. */
    static final int ASKED = 8;

    private final ServerRecords watches;

    /** A server and what the model is called there. */
    record ServerModel(ServerRecord watch, ModelRef model, ServerId source) {}

    ModelServers(ServerRecords watches) {
        this.watches = watches;
    }

    /** The servers of all targets in turn, so many at most; those that are not ready only where none is. */
    List<ServerModel> of(ModelLocation place, int most) {
        List<List<ServerModel>> byTarget = new ArrayList<>();
        for (Target target : place.targets()) {
            byTarget.add(watches.of(target.upstream()).stream()
                    .map(watch -> new ServerModel(watch, target.model(), source(place, target, watch)))
                    .toList());
        }
        boolean anyReady = byTarget.stream()
                .flatMap(List::stream)
                .anyMatch(asked -> asked.watch().isReady());
        List<ServerModel> chosen = new ArrayList<>();
        int longest = byTarget.stream().mapToInt(List::size).max().orElse(0);
        for (int i = 0; i < longest; i++) {
            for (List<ServerModel> servers : byTarget) {
                if (i < servers.size() && chosen.size() < most) {
                    ServerModel asked = servers.get(i);
                    if (asked.watch().isReady() || !anyReady) {
                        chosen.add(asked);
                    }
                }
            }
        }
        return chosen;
    }

    /** Two arms may be on one server. */
    private static ServerId source(ModelLocation place, Target target, ServerRecord watch) {
        long same = place.targets().stream()
                .filter(other -> other.upstream() == target.upstream())
                .count();
        ServerId source = watch.source();
        return same == 1 ? source : new ServerId(source.upstream(), source.label() + " " + target.model());
    }
}
