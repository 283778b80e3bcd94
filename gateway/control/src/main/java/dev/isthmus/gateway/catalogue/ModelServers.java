package dev.isthmus.gateway.catalogue;

import dev.isthmus.gateway.routing.Target;
import dev.isthmus.oip.ModelRef;
import java.util.ArrayList;
import java.util.List;

/** Selects the servers to request a model's state from. Used on the catalogue's loop. */
final class ModelServers {
    /** Servers per on-demand lookup. */
    static final int MAX_SERVERS = 8;

    private final ServerRecords records;

    /** A server and the model's name there. */
    record ServerModel(ServerRecord record, ModelRef model, ServerId source) {}

    ModelServers(ServerRecords records) {
        this.records = records;
    }

    /**
     * The servers of all targets, round-robin, at most this many; without servers that are not ready, unless none is.
     */
    List<ServerModel> of(ModelLocation location, int maxServers) {
        List<List<ServerModel>> byTarget = new ArrayList<>();
        for (Target target : location.targets()) {
            byTarget.add(records.of(target.upstream()).stream()
                    .map(record -> new ServerModel(record, target.model(), source(location, target, record)))
                    .toList());
        }
        boolean anyReady = byTarget.stream()
                .flatMap(List::stream)
                .anyMatch(server -> server.record().isReady());
        List<ServerModel> chosen = new ArrayList<>();
        int longest = byTarget.stream().mapToInt(List::size).max().orElse(0);
        for (int i = 0; i < longest; i++) {
            for (List<ServerModel> servers : byTarget) {
                if (i < servers.size() && chosen.size() < maxServers) {
                    ServerModel server = servers.get(i);
                    if (server.record().isReady() || !anyReady) {
                        chosen.add(server);
                    }
                }
            }
        }
        return chosen;
    }

    /** Several targets may be on one server. */
    private static ServerId source(ModelLocation location, Target target, ServerRecord record) {
        long targetsOnUpstream = location.targets().stream()
                .filter(other -> other.upstream() == target.upstream())
                .count();
        ServerId source = record.source();
        return targetsOnUpstream == 1 ? source : new ServerId(source.upstream(), source.label() + " " + target.model());
    }
}
