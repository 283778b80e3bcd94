package dev.isthmus.gateway.catalogue;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.oip.OipException;
import dev.isthmus.proto.RepositoryIndexResponse;
import java.util.List;
import java.util.Optional;

/**
 * The repository index of the whole fleet.
 *
 * @param models by name and version, at most 100,000
 * @param failures of the servers that could not be asked, in the order of the sources
 * @param asked how many servers were
 * @param cut whether there were more models
 */
public record RepositoryIndex(
        List<IndexedModel> models, List<IndexListing.FailedListing> failures, int asked, boolean cut) {

    public RepositoryIndex {
        models = List.copyOf(models);
        failures = List.copyOf(failures);
    }

    /**
     * Merges the indexes of servers: one entry for the same name and version. It is READY where one server is, otherwise in the
     * most advanced state.
     *
     * @param listings in the order of the configuration, names as clients ask for them
     */
    public static RepositoryIndex of(List<IndexListing> listings) {
        return new IndexMerge(listings).merged();
    }

    /** What the client is told when no server at all could be asked. */
    public Optional<OipException> failure() {
        return asked == 0 || failures.size() < asked
                ? Optional.empty()
                : Optional.of(FailureSeverity.worst(failures.stream()
                        .map(IndexListing.FailedListing::failure)
                        .toList()));
    }

    /** What clients are told. */
    public List<IndexEntry> entries(boolean readyOnly) {
        return models.stream()
                .map(IndexedModel::merged)
                .filter(entry -> !readyOnly || entry.state() == ModelState.READY)
                .toList();
    }

    /** What clients are told, in the protocol's form. */
    public RepositoryIndexResponse response(boolean readyOnly) {
        RepositoryIndexResponse.Builder response = RepositoryIndexResponse.newBuilder();
        for (IndexEntry entry : entries(readyOnly)) {
            response.addModelsBuilder()
                    .setName(entry.name())
                    .setVersion(entry.version())
                    .setState(entry.state().text())
                    .setReason(entry.reason());
        }
        return response.build();
    }

    /** Everything, for the admin side: the state on each server, and who could not be asked. */
    public ObjectNode detailed() {
        ObjectNode json = JsonNodeFactory.instance.objectNode();
        ArrayNode list = json.putArray("models");
        for (IndexedModel model : models) {
            IndexEntry merged = model.merged();
            ObjectNode node = list.addObject().put("name", merged.name()).put("version", merged.version());
            state(node, merged.state(), merged.reason());
            ArrayNode servers = node.putArray("servers");
            for (ReplicaState replica : model.replicas()) {
                state(source(servers.addObject(), replica.source()), replica.state(), replica.reason());
            }
        }
        ArrayNode unasked = json.putArray("failures");
        for (IndexListing.FailedListing failed : failures) {
            source(unasked.addObject(), failed.source())
                    .put("code", failed.failure().code().name())
                    .put("reason", MetadataLimits.reason(failed.failure().message()));
        }
        return json.put("cut", cut);
    }

    private static ObjectNode source(ObjectNode node, ServerId source) {
        return node.put("upstream", source.upstream()).put("server", source.label());
    }

    private static void state(ObjectNode node, ModelState state, String reason) {
        node.put("state", state.text()).put("reason", reason);
    }
}
