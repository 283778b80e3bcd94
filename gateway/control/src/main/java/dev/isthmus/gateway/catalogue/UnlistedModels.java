package dev.isthmus.gateway.catalogue;

import dev.isthmus.gateway.fleet.ReplicaStatus;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ModelRef;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;

/** Adds to an index the configured models that no server lists, as servers without an index do not. */
final class UnlistedModels {
    private static final ReplicaState UNCHECKED = new ReplicaState(new ServerId("", ""), ModelState.UNKNOWN, "");

    private final ModelLocations locations;
    private final Function<Upstream, List<ReplicaStatus>> members;

    /** @param members the servers of an upstream, as last checked */
    UnlistedModels(ModelLocations locations, Function<Upstream, List<ReplicaStatus>> members) {
        this.locations = locations;
        this.members = members;
    }

    RepositoryIndex addTo(RepositoryIndex index) {
        Set<String> listed =
                index.models().stream().map(each -> each.merged().name()).collect(Collectors.toSet());
        List<IndexedModel> models = new ArrayList<>(index.models());
        locations.configured().stream()
                .filter(name -> !listed.contains(name))
                .map(this::model)
                .forEach(models::add);
        // The sort is stable, so versions of a model stay in their order.
        models.sort(Comparator.comparing(each -> each.merged().name()));
        return new RepositoryIndex(models, index.failures(), index.servers(), index.cut());
    }

    private IndexedModel model(String name) {
        Set<ReplicaState> replicas = new LinkedHashSet<>();
        for (Target target : locations.of(ModelRef.of(name)).targets()) {
            members.apply(target.upstream()).forEach(server -> replicas.add(state(server, target.model())));
        }
        ReplicaState best =
                replicas.stream().max(Comparator.comparing(ReplicaState::state)).orElse(UNCHECKED);
        return new IndexedModel(new IndexEntry(name, "", best.state(), best.reason()), List.copyOf(replicas));
    }

    private static ReplicaState state(ReplicaStatus server, ModelRef model) {
        ServerId source = new ServerId(server.upstream(), server.label());
        Boolean ready = server.models().get(model);
        if (!server.ready()) {
            return new ReplicaState(source, ModelState.UNAVAILABLE, MetadataLimits.reason(server.reason()));
        }
        if (ready == null) {
            return new ReplicaState(source, ModelState.UNKNOWN, "not checked yet");
        }
        return ready
                ? new ReplicaState(source, ModelState.READY, "")
                : new ReplicaState(source, ModelState.UNAVAILABLE, "not ready");
    }
}
