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
 * @param failures of servers whose request failed, in the order of the sources
 * @param servers the number of servers
 * @param cut whether there were more models
 */
public record RepositoryIndex(
        List<IndexedModel> models, List<IndexListing.FailedListing> failures, int servers, boolean cut) {

    public RepositoryIndex {
        models = List.copyOf(models);
        failures = List.copyOf(failures);
    }

    /**
     * Merges the indexes of servers: one entry per name and version. It is READY if one server is, otherwise in the
     * most advanced state.
     *
     * @param listings in configuration order, with client-side names
     */
    public static RepositoryIndex of(List<IndexListing> listings) {
        return new IndexMerge(listings).merged();
    }

    /** The failure for the client if the requests to all servers failed. */
    public Optional<OipException> failure() {
        return servers == 0 || failures.size() < servers
                ? Optional.empty()
                : Optional.of(FailureSeverity.worst(failures.stream()
                        .map(IndexListing.FailedListing::failure)
                        .toList()));
    }

    /** The entries for clients. */
    public List<IndexEntry> entries(boolean readyOnly) {
        return models.stream()
                .map(IndexedModel::merged)
                .filter(entry -> !readyOnly || entry.state() == ModelState.READY)
                .toList();
    }

    /** The index for clients, as a protobuf message. */
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

    /** For the admin listener: the state on each server, and the failures. */
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
        ArrayNode failureList = json.putArray("failures");
        for (IndexListing.FailedListing failed : failures) {
            source(failureList.addObject(), failed.source())
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
